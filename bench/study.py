"""What a study of many short runs costs besides its labs.

400 runs of 1 to 10 s, with nothing kept of others' runs; run it with nothing else at work. The
labs' own time is what each run says it took (wall_s), the whole is the command's time on all of its
cores. Exit status 1 when the rest is more than promised.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import polars as pl
import yaml
from rich.console import Console
from rich.table import Table

from sandglass.install import builds

PROMISED = 25
"""Percent of the labs' own time."""
DURATIONS = range(1, 11)
QUEUES = ("codel", "pie")
REPLICAS = 20


def study() -> dict[str, Any]:
    """One flow of CUBIC through two queues, for 1 to 10 s, as one would try something."""
    experiment = yaml.safe_load((builds.ROOT / "examples" / "codel.yaml").read_text())
    durations = {
        f"{seconds}s": {"duration": f"{seconds}s", "flows.0.duration": f"{seconds}s"}
        for seconds in DURATIONS
    }
    return {
        "title": "Many short runs",
        "experiment": experiment | {"noise": "testbed"},
        "vary": {"bottleneck.queue.kind": list(QUEUES), "length": {"values": durations}},
        "replicas": REPLICAS,
        "metrics": {
            "goodput": "flows.0.goodput_mbit",
            "delay": "bottleneck.queue_delay_ms.p95",
        },
        "plots": [{"x": "length", "y": "delay", "colour": "bottleneck.queue.kind"}],
    }


def main() -> int:
    cores = len(os.sched_getaffinity(0))
    with tempfile.TemporaryDirectory() as name:
        file, out = Path(name) / "many.yaml", Path(name) / "many"
        file.write_text(json.dumps(study()))
        environment = os.environ | {"SANDGLASS_RUNS_LIMIT": "0"}
        command = [str(builds.ROOT / "sandglass"), "study", str(file), "--out", str(out)]
        start = time.perf_counter()
        subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL)
        took_s = time.perf_counter() - start
        runs = pl.read_csv(out / "runs.csv")
        started = time.perf_counter()
        subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL)
        again_s = time.perf_counter() - started
    labs_s = float(runs["wall_s"].sum())
    overhead = 100 * (took_s * cores / labs_s - 1)
    table = Table(show_header=False, box=None, pad_edge=False)
    table.add_row("runs", f"{runs.height}")
    table.add_row("the whole command", f"{took_s:.1f} s on {cores} cores")
    table.add_row("the labs' own time", f"{labs_s:.1f} s, {labs_s / runs.height:.2f} s a run")
    table.add_row("all else", f"{overhead:.0f} % of that; promised: at most {PROMISED} %")
    table.add_row("the same again, when all is done", f"{again_s:.1f} s")
    Console().print(table)
    return int(overhead > PROMISED)


if __name__ == "__main__":
    sys.exit(main())
