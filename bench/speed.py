"""How fast experiments run: whole `run` commands, from their start to their end.

Each is the best of REPEATS; run it with nothing else at work. Exit status 1 when one is slower than
promised. Where ns-3 is installed (libns3-dev and a compiler), it does what examples/codel.yaml
does, turn about with the lab, and the last lines compare the two.
"""

import json
import shutil
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
VIRTUAL_S = 90
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
NS3 = builds.ROOT / "bench" / "ns3" / "flow.cc"
NS3_MODULES = ("core", "network", "internet", "point-to-point", "applications", "traffic-control")
SEGMENT = 1448  # bytes


class Promise(NamedTuple):
    """A figure, and what it must not exceed or fall short of."""

    what: str
    figure: Callable[[dict[str, float]], float]
    unit: str
    promised: float
    at_most: bool = True

    def kept(self, seconds: dict[str, float]) -> bool:
        """Whether it holds for the seconds that each experiment took."""
        figure = self.figure(seconds)
        return figure <= self.promised if self.at_most else figure >= self.promised


PROMISES = (
    Promise("1 s: the whole command", lambda s: s["1 s"], "s", 0.40),
    Promise("1 s with 100 pairs of hosts", lambda s: s["1 s, 100 pairs"], "s", 1.5),
    Promise("1 s with Open vSwitch, 4 pairs", lambda s: s["1 s, 4 pairs, Open vSwitch"], "s", 1.2),
    Promise("3 s with a page from nginx", lambda s: s["3 s, a page"], "s", 0.8),
    Promise("90 s, times real time", lambda s: VIRTUAL_S / s["90 s"], "", 70, False),
    Promise("without records", lambda s: VIRTUAL_S / s["90 s, no records"], "", 90, False),
    Promise("what records add", lambda s: 100 * (s["90 s"] / s["90 s, no records"] - 1), "%", 25),
    Promise("a second more", lambda s: 1000 * (s["90 s"] - s["1 s"]) / (VIRTUAL_S - 1), "ms", 9.4),
    Promise("two at once, over one", lambda s: s["two of 90 s"] / s["90 s"], "", 1.15),
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


def simulator(folder: Path) -> Path | None:
    """The example as a program of ns-3, or None where that is not installed."""
    if not (Path("/usr/include/ns3").is_dir() and shutil.which("g++")):
        return None
    program = folder / "flow"
    libraries = [f"-lns3-{module}" for module in NS3_MODULES]
    flags = ["-std=c++17", "-O2", "-Wl,--allow-shlib-undefined"]
    subprocess.run(["g++", *flags, str(NS3), "-o", str(program), *libraries], check=True)
    return program


def simulated(program: Path) -> tuple[float, int]:
    """Wall time of ns-3 for the example, and the bytes that its flow carried."""
    start = time.perf_counter()
    received = int(subprocess.check_output([str(program)]))
    return time.perf_counter() - start, received


def measure(folder: Path, program: Path | None) -> Iterator[tuple[str, float]]:
    """What was timed, and how long it took, REPEATS times all, turn about."""
    files = {name: written(name, folder) for name in EXPERIMENTS}
    for _ in track(range(REPEATS), "measuring", console=Console(stderr=True), transient=True):
        for name, file in files.items():
            yield name, seconds(file)
        yield "two of 90 s", seconds(files["90 s"], 2)
        if program:
            yield "ns-3", simulated(program)[0]


def carried(folder: Path) -> int:
    """Bytes that the example's flow carries in the lab."""
    command = [str(builds.ROOT / "sandglass"), "run", str(written("90 s", folder))]
    subprocess.run([*command, "--out", f"{folder}/run"], stdout=subprocess.DEVNULL, check=True)
    flow = json.loads((folder / "run" / "run.json").read_text())["flows"][0]
    return int(flow["bytes"])


def main() -> int:
    best: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as name:
        program = simulator(Path(name))
        for what, took in measure(Path(name), program):
            best[what] = min(took, best.get(what, took))
        table = Table("measured", "", "promised", "", box=None, pad_edge=False)
        for promise in PROMISES:
            bound = f"{'at most' if promise.at_most else 'at least'} {promise.promised:g}"
            verdict = "ok" if promise.kept(best) else "too slow"
            figure = f"{promise.figure(best):.3g} {promise.unit}"
            table.add_row(promise.what, figure, bound, verdict)
        if program:
            lab, ns3 = carried(Path(name)), simulated(program)[1]
            rates = (f"{lab / SEGMENT / best['90 s']:.0f}", f"{ns3 / SEGMENT / best['ns-3']:.0f}")
            table.add_row("segments a second, lab and ns-3", " and ".join(rates))
            table.add_row("the lab over ns-3", f"{best['ns-3'] / best['90 s']:.3g} times as fast")
            table.add_row("what the flow carried, over ns-3", f"{lab / ns3:.3f}")
        else:
            table.add_row("ns-3", "not installed (libns3-dev, g++)")
    Console().print(table)
    return int(not all(promise.kept(best) for promise in PROMISES))


if __name__ == "__main__":
    sys.exit(main())
