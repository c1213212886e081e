"""How fast experiments run: whole `run` commands, from their start to their end.

Each is the best of REPEATS; run it with nothing else at work. Machines differ by a factor of three,
so what is promised is how many times as long as YARDSTICK a command takes, a program that does what
labs do most, measured turn about with them. Exit status 1 when one is slower than promised.
"""

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import yaml
from rich.console import Console
from rich.progress import track
from rich.table import Table

from sandglass.install import builds

EXAMPLE = yaml.safe_load((builds.ROOT / "examples" / "codel.yaml").read_text())
PAGE = {
    **{"workload": "page", "from": "s1", "to": "d1", "html": "30kB"},
    "objects": {"count": 10, "size": "10kB"},
}
EXPERIMENTS: dict[str, dict[str, Any]] = {
    "90 s": {},
    "90 s, no records": {"record": []},
    "1 s": {"duration": "1s"},
    "1 s, 100 pairs": {"duration": "1s", "pairs": 100},
    "1 s, 4 pairs, Open vSwitch": {"duration": "1s", "pairs": 4, "topology": "dumbbell_ovs"},
    "3 s, a page": {"duration": "3s", "flows": [PAGE]},
}
"""What differs from examples/codel.yaml; its flow lasts as long as the experiment."""
REPEATS = 5
YARDSTICK = """
import os
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
(there, to_there), (here, to_here) = os.pipe(), os.pipe()
if os.fork() == 0:
    for _ in range(20_000):
        os.read(there, 1)
        os.write(to_here, b"x")
    os._exit(0)
for _ in range(20_000):
    os.write(to_there, b"x")
    os.read(here, 1)
sum(number * number for number in range(1_000_000))
"""
"""A million steps of Python's, and 40,000 times one process hands over to another."""


class Promise(NamedTuple):
    """A figure, and what it must not exceed."""

    what: str
    figure: Callable[[dict[str, float]], float]
    unit: str
    promised: float

    def kept(self, seconds: dict[str, float]) -> bool:
        """Whether it holds for the seconds that each experiment took."""
        return self.figure(seconds) <= self.promised


def yardsticks(name: str, promised: float) -> Promise:
    """A promise of how long an experiment's whole command takes."""
    return Promise(name, lambda s: s[name] / s["yardstick"], "yardsticks", promised)


PROMISES = (
    yardsticks("1 s", 3.8),
    yardsticks("1 s, 100 pairs", 10.6),
    yardsticks("1 s, 4 pairs, Open vSwitch", 7),
    yardsticks("3 s, a page", 4.3),
    yardsticks("90 s", 9.4),
    yardsticks("90 s, no records", 7.7),
    Promise("what records add", lambda s: 100 * (s["90 s"] / s["90 s, no records"] - 1), "%", 25),
    Promise("two at once, over one", lambda s: s["two of 90 s"] / s["90 s"], "", 1.35),
)


def written(name: str, folder: Path) -> Path:
    """The file of an experiment."""
    experiment = EXAMPLE | EXPERIMENTS[name]
    if "flows" not in EXPERIMENTS[name]:
        experiment["flows"] = [{**EXAMPLE["flows"][0], "duration": experiment["duration"]}]
    path = folder / f"{name}.yaml"
    path.write_text(yaml.safe_dump(experiment))
    return path


def seconds(experiment: Path, count: int = 1) -> float:
    """Wall time of `count` runs started together, until the last one ended."""
    with tempfile.TemporaryDirectory() as out:
        command = [str(builds.ROOT / "sandglass"), "run", str(experiment), "--out"]
        start = time.perf_counter()
        processes = [
            subprocess.Popen([*command, f"{out}/{number}"], stdout=subprocess.DEVNULL)
            for number in range(count)
        ]
        if max(process.wait() for process in processes):
            sys.exit("sandglass: a run failed: there is nothing to measure")
        return time.perf_counter() - start


def yardstick() -> float:
    """Wall time of the yardstick."""
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", YARDSTICK], check=True)
    return time.perf_counter() - start


def measure(folder: Path) -> Iterator[tuple[str, float]]:
    """What was timed, and how long it took, REPEATS times all, turn about."""
    files = {name: written(name, folder) for name in EXPERIMENTS}
    for _ in track(range(REPEATS), "measuring", console=Console(stderr=True), transient=True):
        yield "yardstick", yardstick()
        for name, file in files.items():
            yield name, seconds(file)
        yield "two of 90 s", seconds(files["90 s"], 2)


def main() -> int:
    best: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as name:
        for what, took in measure(Path(name)):
            best[what] = min(took, best.get(what, took))
    table = Table("measured", "s", "", "promised", "", box=None, pad_edge=False)
    table.add_row("yardstick", f"{best['yardstick']:.3f}")
    for promise in PROMISES:
        whole = f"{best[promise.what]:.2f}" if promise.what in best else ""
        figure = f"{promise.figure(best):.3g} {promise.unit}"
        verdict = "ok" if promise.kept(best) else "too slow"
        table.add_row(promise.what, whole, figure, f"at most {promise.promised:g}", verdict)
    Console().print(table)
    return int(not all(promise.kept(best) for promise in PROMISES))


if __name__ == "__main__":
    sys.exit(main())
