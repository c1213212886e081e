"""Runs the same flows in virtual and in real time, and adds what they gave to docs/real_time.csv.

Both on the lab's kernel: in real time by the host backend, in a lab that keeps the host's clock, so
that hardly anything differs but time. A case that is there already is not run again.

Usage: ./sandglass python bench/real_time.py, on a machine that does nothing else: two labs at a
time need a processor each. docs/agreement.py makes a table of it.
"""

import itertools
import json
import sys
import tempfile
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

import sandglass
from sandglass.install import builds
from sandglass.lab import lab

OUT = builds.ROOT / "docs" / "real_time.csv"
MACHINE = "tests/lab/machine.py"
"""Runs commands of Sandglass as root, on the lab's kernel in real time."""
MEMORY_MB = 1024
ABREAST = 2
TIMES = 4
"""Runs of a case in real time. In virtual time one would do but for PIE, whose dice have a seed."""


class Case(NamedTuple):
    queue: str
    cc: str


def cases() -> list[Case]:
    return [Case(*each) for each in itertools.product(("pfifo", "codel", "pie"), ("reno", "cubic"))]


def experiment(case: Case, seed: int) -> dict[str, Any]:
    """One flow, at a rate that a machine keeps up with in real time."""
    limit = "1bdp" if case.queue == "pfifo" else 1000
    return {
        "title": "virtual beside real time",
        "topology": "dumbbell",
        "rtt": "50ms",
        "bottleneck": {"rate": "4mbit", "queue": {"kind": case.queue, "limit": limit}},
        "flows": [{"workload": "bulk", "from": "s1", "to": "d1", "cc": case.cc}],
        "duration": "30s",
        "record": ["packets"],
        "seed": seed,
    }


def row(case: Case, seed: int, document: Mapping[str, Any]) -> dict[str, Any]:
    """Columns: queue, cc, clock, seed, goodput_mbit, mean_ms of the queueing delay, and warnings:
    how many of them say that the machine was late."""
    return {
        **case._asdict(),
        "clock": document["clock"],
        "seed": seed,
        "goodput_mbit": document["flows"][0]["goodput_mbit"],
        "mean_ms": document["bottleneck"]["queue_delay_ms"]["mean"],
        "warnings": len(document["warnings"]),
    }


def virtual(case: Case) -> list[dict[str, Any]]:
    return [
        row(case, seed, sandglass.run(experiment(case, seed), cached=True).document)
        for seed in range(1, TIMES + 1)
    ]


def real(case: Case) -> list[dict[str, Any]]:
    """The case in real time, one run after the other. Raises SystemExit where one fails."""
    seeds = range(1, TIMES + 1)
    with tempfile.TemporaryDirectory(prefix="sandglass-real-") as made:
        home = Path(made)
        for seed in seeds:
            (home / f"{seed}.yaml").write_text(json.dumps(experiment(case, seed)))
        steps = [
            {"run": ["run", f"{seed}.yaml", "--backend", "host", "--out", f"{seed}"]}
            for seed in seeds
        ]
        wanted = {"cache": str(builds.directory()), "python": sys.executable, "steps": steps}
        (home / "machine.json").write_text(json.dumps(wanted))
        lab.run_program(MACHINE, home, memory_mb=MEMORY_MB, clock=())
        for step in json.loads((home / "steps.json").read_text())[1:]:
            if step["status"]:
                sys.exit(step["out"])
        return [
            row(case, seed, json.loads((home / f"{seed}" / "run.json").read_text()))
            for seed in seeds
        ]


def keep(rows: Sequence[dict[str, Any]]) -> None:
    with OUT.open("a") as file:
        pl.DataFrame(rows).write_csv(file, include_header=file.tell() == 0)


def main() -> None:
    done = set(pl.read_csv(OUT).select(Case._fields).rows()) if OUT.exists() else set()
    wanted = [case for case in cases() if case not in done]
    before = [virtual(case) for case in wanted]  # later they would wait for a processor
    with ThreadPoolExecutor(ABREAST) as pool:
        for rows, others in zip(before, pool.map(real, wanted), strict=True):
            keep([*rows, *others])


if __name__ == "__main__":
    main()
