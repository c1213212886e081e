"""Experiment files with something changed in them, and what becomes of them.

    python -m tests.spec.mutations read COUNT [FIRST]   reads so many, from a seed on
    python -m tests.spec.mutations run COUNT [FIRST]    runs so many of those that can be read

Every file is decided by its seed. Reading one may give an experiment or a UsageError of at most
LONGEST lines, and nothing else; running one ends well or with one error that says what is wrong.
Exit status 1 when one does not; its seed is told. Needs PYTHONPATH=src:. and the environment.
"""

import copy
import json
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from sandglass.agent.plan import DIRECTIONS
from sandglass.errors import UsageError
from sandglass.experiment import reading, units
from sandglass.experiment.experiment import Experiment
from sandglass.run.plan import resolve

ROOT = Path(__file__).parents[2]
EXAMPLES = [path.read_text(encoding="utf-8") for path in sorted(ROOT.glob("examples/*.yaml"))]
TREES = [yaml.safe_load(text) for text in EXAMPLES]
LONGEST = 20

NUMBERS = [
    *[0, 1, -1, 2, 3, 20, 100, 101, 1000, 2**31, 2**32, 2**63 - 1, 2**64, 10**400],
    *[0.0, 0.5, -0.5, 1e-9, 1e308, float("inf"), float("nan")],
]
AMOUNTS = ["0", "1", "-1", "7", "0.5", ".5", "1.", "1e3", "1_000", "0x10", "999999999999", "٣"]
UNITS = [*units.RATES, *units.TIMES, *units.SIZES, "p", "bdp", "kbps", "Mbit", "%", "мс", "", " s"]
WORDS = [
    *[
        "",
        " ",
        "~",
        "yes",
        "null",
        "a" * 5000,
        "s1 ",
        "s1;d1",
        "../s1",
        "/etc/passwd",
        "-",
        "--help",
    ],
    *["d1", "s2", "r1", "h1", "core", "bottleneck", "hop2", "codel", "red", "htb", "cake", "netem"],
    *[
        "cubik",
        "bbr",
        "dctcp",
        "reno\n",
        "flent:rrul",
        "flent:",
        "flent:no_such",
        "udp:x",
        "udp.py",
    ],
    *["dumbbell", "star", "parking_lot", "dumbbell_ovs", "router", "no.py", "net.ipv4.tcp_sack"],
    *[
        "a" * 5000 + ".py",
        "\0",
        "a\0b",
        "1ms#",
        "\\",
        "'",
        "\ud800",
        "\u2028",
        "net.core.none",
        "kernel.panic",
        "\x7f",
        "\u202e",
        "\U0001f40c",
        "e\u0301",
        "\ud7ff",
        "0",
        "1.5",
    ],
]
KEYS = [
    *[
        "title",
        "topology",
        "pairs",
        "hops",
        "arms",
        "rtt",
        "rtt_spread",
        "bottleneck",
        "bottlenecks",
        "links",
        "all",
        "delay",
        "loss",
    ],
    *[
        "rate",
        "queue",
        "kind",
        "limit",
        "target",
        "ecn",
        "reverse",
        "schedule",
        "at",
        "flows",
        "cc",
    ],
    *["workload", "from", "to", "start", "start_within", "duration", "count", "size", "interval"],
    *["rounds", "pause", "html", "objects", "packet_size", "burst", "hosts", "sysctls", "initcwnd"],
    *["answers", "access_rate", "mtu", "delayed_ack", "pacing", "seed", "record", "repeat"],
    *["lognormal", "<<"],
]
DEEP = "deeper or longer than what writes YAML can go"
Places = list[tuple[Any, Any]]


def mutated(seed: int) -> str:
    """The text of an experiment file, once a good one."""
    draw = random.Random(seed)
    if draw.random() < 0.3:
        return rewritten(draw.choice(EXAMPLES), draw)
    tree = copy.deepcopy(draw.choice(TREES))
    for _ in range(draw.choice([1, 1, 1, 2, 3])):
        change(tree, draw)
    if draw.random() < 0.3:
        share(tree, draw)
    text: str = yaml.safe_dump(
        tree,
        sort_keys=False,
        allow_unicode=draw.random() < 0.5,
        default_flow_style=draw.choice([None, False, True]),
    )
    deep = draw.choice([300, 5000])
    huge = draw.choice(["0x" + "f" * 5000, "1" + "0" * 5000, "[" * deep + "]" * deep])
    return text.replace(DEEP, huge)


def rewritten(text: str, draw: random.Random) -> str:
    """A text with lines and characters changed, whatever they mean."""
    lines = text.splitlines()
    for _ in range(draw.randint(1, 3)):
        at = draw.randrange(len(lines))
        line = lines[at]
        column = draw.randrange(len(line) + 1)
        piece = draw.choice(
            [
                *"{}[]:,&*#?|->!%@`'\"\t\\ ",
                "&a ",
                "*a",
                "<<: *a",
                "!!set ",
                "!!binary ",
                "--- ",
                "\x00",
            ]
        )
        lines[at : at + 1] = draw.choice(
            [
                [line[:column] + piece + line[column:]],
                [line[:column] + line[column + 1 :]],
                [line[:column]],
                [" " * draw.randint(1, 3) + line],
                [line, line],
                [],
                [line.replace(" ", draw.choice([" &a ", " *a ", "\u00a0", "  "]), 1)],
                ["[" * draw.choice([3, 100, 3000]) + line],
            ]
        )
        lines = lines or [""]
    return "\n".join(lines) + "\n"


def places(tree: Any) -> Places:
    """Every entry of every mapping and list below, as the part that holds it and its key."""
    found: Places = []
    waiting = [tree]
    while waiting:
        part = waiting.pop()
        entries = part.items() if isinstance(part, dict) else enumerate(part)
        for key, value in entries:
            found.append((part, key))
            if isinstance(value, dict | list):
                waiting.append(value)
    return found


def change(tree: dict[str, Any], draw: random.Random) -> None:
    """Change one entry: its value, its key, or whether it is there."""
    there = places(tree)
    if not there:
        return
    part, key = draw.choice(there)
    match draw.randrange(8):
        case 0:
            del part[key]
        case 1 if isinstance(part, dict):
            part[draw.choice([draw.choice(KEYS), str(key) + "s", str(key)[:-1]])] = part.pop(key)
        case 2 if isinstance(part, dict):
            part[draw.choice(KEYS)] = value(tree, draw)
        case 3 if isinstance(part, list):
            part += [copy.deepcopy(part[key])] * draw.choice([1, 2, 60])
        case 4 if isinstance(part[key], dict):
            part[key] = [part[key]]
        case _:
            part[key] = value(tree, draw)


def value(tree: dict[str, Any], draw: random.Random) -> Any:
    """Any value: of another type, in another unit, from elsewhere in the file, or deep."""
    match draw.randrange(8):
        case 0:
            return draw.choice(NUMBERS)
        case 1 | 2 | 3:
            return draw.choice(AMOUNTS) + draw.choice(UNITS)
        case 4:
            return draw.choice([*WORDS, DEEP])
        case 5:
            return draw.choice([None, True, False, [], {}, [[]], [None], {"": {}}, b"\xff\x00"])
        case 6:
            deep: Any = draw.choice(NUMBERS)
            for _ in range(draw.choice([1, 3, 60])):
                deep = draw.choice([[deep], {draw.choice(KEYS): deep}])
            return deep
    part, key = draw.choice(places(tree))
    return copy.deepcopy(part[key])


def share(tree: dict[str, Any], draw: random.Random) -> None:
    """Let a part stand in two places, which are an anchor and an alias, or even within itself."""
    parts = [part[key] for part, key in places(tree) if isinstance(part[key], dict | list)]
    there = places(tree)
    if parts:
        part, key = draw.choice(there)
        part[key] = draw.choice(parts)


def read(text: str, folder: Path) -> Experiment:
    """The experiment in a text, planned too. Raises UsageError."""
    path = folder / "experiment.yaml"
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    experiment = reading.load(path)
    resolve(experiment, experiment.facts)
    return experiment


# --- Reading many -------------------------------------------------------------------------------


def judge(seed: int, folder: Path) -> str:
    """What becomes of the file of a seed: accepted, refused, or what is wrong with the reader."""
    try:
        read(mutated(seed), folder)
    except UsageError as error:
        lines = error.message.count("\n") + 1
        return "refused" if lines <= LONGEST else f"a message of {lines} lines"
    except Exception as error:
        return f"crash: {type(error).__name__}: {str(error)[:200]}"
    return "accepted"


def read_many(seeds: range) -> Iterator[tuple[int, str]]:
    """Of each seed what became of its file."""
    with tempfile.TemporaryDirectory() as folder:
        for seed in seeds:
            yield seed, judge(seed, Path(folder))


# --- Running some -------------------------------------------------------------------------------

LASTS_NS = 2 * 10**9
MOST_BITS = 2 * 10**9  # some 170,000 packets
MOST_MB = 1500
MOST_FLOWS = 100
PATIENCE_S = 240


def shortened(experiment: Experiment, folder: Path) -> Experiment | None:
    """The experiment, but of 2 s at most, and less where links are fast; None: it cannot be.

    What would use too much memory is left out too.
    """
    content = experiment.filled()
    plan = resolve(experiment, experiment.facts)
    rates = [link[way]["rate_bps"] for link in plan["bottlenecks"].values() for way in DIRECTIONS]
    lasts = min(experiment.duration, LASTS_NS, MOST_BITS * 10**9 // sum(rates))
    if lasts < 10**6 or plan["memory_mb"] > MOST_MB or len(plan["flows"]) > MOST_FLOWS:
        return None
    content["duration"] = units.format_time(lasts)
    content["repeat"] = min(content["repeat"], 20)
    for flow in content["flows"]:
        for key in ("start", "start_within", "duration"):
            if key in flow and units.parse_time(flow[key]) >= lasts // 3:
                flow[key] = units.format_time(lasts // 3)
    for link in (content["bottleneck"], *content["bottlenecks"].values()):
        link["schedule"] = [
            step for step in link.get("schedule", []) if units.parse_time(step["at"]) < lasts
        ]
    try:
        return read(json.dumps(content), folder)
    except UsageError:  # flent counts whole seconds, for one
        return None


def run(experiment: Experiment, folder: Path) -> str:
    """Run what `shortened` has left in the folder: what became of it."""
    command = [sys.executable, "-m", "sandglass", "run", str(folder / "experiment.yaml")]
    try:
        done = subprocess.run(
            [*command, "--out", str(folder / "run")],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=PATIENCE_S,
        )
    except subprocess.TimeoutExpired:
        return f"has not ended within {PATIENCE_S} s"
    said = done.stderr.strip()
    if done.returncode == 0:
        return "ended well"
    wrong = ("Traceback", "should not happen", "ended with status", "See the console log")
    if done.returncode not in (1, 2) or any(text in said for text in wrong):
        return f"status {done.returncode}: {said}"
    lines = said.count("\n") + 1
    return f"told: {said}" if lines <= LONGEST else f"an error of {lines} lines"


def run_many(count: int, first: int) -> Iterator[tuple[int, str]]:
    """Of the next accepted seeds what became of their runs."""
    seed = first
    while count:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            if judge(seed, folder) == "accepted":
                experiment = shortened(read(mutated(seed), folder), folder)
                if experiment is not None:
                    count -= 1
                    yield seed, run(experiment, folder)
        seed += 1


def main(what: str, count: int, first: int = 0) -> int:
    found: Counter[str] = Counter()
    start = time.monotonic()
    outcomes = read_many(range(first, first + count)) if what == "read" else run_many(count, first)
    for seed, outcome in outcomes:
        kind = outcome.partition(":")[0]
        found[kind] += 1
        if kind not in ("accepted", "refused", "ended well"):
            print(f"{seed}: {outcome}", flush=True)
    print(f"{dict(found)} in {time.monotonic() - start:.0f} s")
    return int(not found.keys() <= {"accepted", "refused", "ended well", "told"})


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], *map(int, sys.argv[2:])))
