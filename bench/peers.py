"""A race: the same flows in the lab and in ns-3, on one processor each, turn about.

    ./sandglass bench peers

Who takes part: the lab, recorded and not; that of Linux 7.2 where it is built; ns-3 of Debian where
it is installed (libns3-dev); ns-3 of PyPI, whose wheel is fetched into the cache, pinned by its
hash. Each does each scenario for a short and a long time. What a second more takes is the
difference, and what a start takes is the rest; where two lines cross, one begins to be faster. Of
each the best of REPEATS counts. Run it with nothing else at work.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import yaml
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from sandglass.errors import SandglassError
from sandglass.install import builds

REPEATS = 3
HERE = builds.ROOT / "bench" / "ns3"
MODULES = ("core", "network", "internet", "point-to-point", "applications", "traffic-control")
SEGMENT = 1448  # bytes
NEWER = "7.2"


@dataclass(frozen=True)
class Scenario:
    """Bulk flows through one CoDel that marks, in the words of each."""

    name: str
    short_s: float
    long_s: float
    rate_mbit: int
    rtt_ms: int = 100
    cc: str = "cubic"
    pairs: int = 1
    queue: dict[str, Any] = field(default_factory=dict)
    of_ns3: tuple[str, ...] = ()

    def experiment(self, seconds: float, *, recorded: bool) -> dict[str, Any]:
        """The lab's file."""
        flows = [
            {"workload": "bulk", "from": f"s{n}", "to": f"d{n}", "cc": self.cc, "ecn": True}
            for n in range(1, self.pairs + 1)
        ]
        queue = {"kind": "codel", "limit": 1000, "ecn": True, **self.queue}
        return {
            "title": self.name,
            "topology": "dumbbell",
            "pairs": self.pairs,
            "rtt": f"{self.rtt_ms}ms",
            "bottleneck": {"rate": f"{self.rate_mbit}mbit", "queue": queue},
            "flows": flows,
            "duration": f"{1000 * seconds:g}ms",
            "record": ["packets", "acks", "queues"] if recorded else [],
        }

    def options(self, seconds: float) -> list[str]:
        """What flow.cc is told."""
        return [
            f"--seconds={seconds:g}",
            f"--pairs={self.pairs}",
            f"--rate={self.rate_mbit}Mbps",
            f"--rtt={self.rtt_ms}",
            f"--cc={self.cc.capitalize()}",
            *self.of_ns3,
        ]


SCENARIOS = (
    Scenario("one flow, 20 Mb/s", 3, 90, 20),
    Scenario("ten flows, 100 Mb/s", 3, 20, 100, pairs=10),
    Scenario("100 pairs, 100 Mb/s", 3, 12, 100, pairs=100),
    Scenario(
        *("DCTCP, 1 Gb/s", 1, 3, 1000, 1, "dctcp"),
        queue={"ce_threshold": "100us"},
        of_ns3=("--ns3::CoDelQueueDisc::CeThreshold=100us",),
    ),
    Scenario(
        *("DCTCP, 10 Gb/s", 0.2, 0.6, 10_000, 1, "dctcp"),
        queue={"ce_threshold": "100us"},
        of_ns3=("--ns3::CoDelQueueDisc::CeThreshold=100us", "--access=100Gbps"),
    ),
)


class Timed(NamedTuple):
    """A run: wall time in s, and the bytes that receivers got."""

    seconds: float
    received: int


Runner = Callable[[Scenario, float], Timed]


def lab(folder: Path, *, recorded: bool, kernel: str) -> Runner:
    """Runs a scenario by the command line, as a user does."""
    environment = os.environ | {"SANDGLASS_KERNEL": kernel}

    def run(scenario: Scenario, seconds: float) -> Timed:
        file, out = folder / "experiment.yaml", folder / "run"
        file.write_text(yaml.safe_dump(scenario.experiment(seconds, recorded=recorded)))
        shutil.rmtree(out, ignore_errors=True)
        command = [str(builds.ROOT / "sandglass"), "run", str(file), "--out", str(out)]
        start = time.perf_counter()
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        took = time.perf_counter() - start
        if done.returncode:
            raise SandglassError(f"{scenario.name}: the lab failed: {done.stderr}")
        flows = json.loads((out / "run.json").read_text())["flows"]
        return Timed(took, sum(flow["bytes"] for flow in flows))

    return run


def simulator(program: Path) -> Runner:
    """Runs a scenario by flow.cc, compiled."""

    def run(scenario: Scenario, seconds: float) -> Timed:
        start = time.perf_counter()
        received = subprocess.check_output([str(program), *scenario.options(seconds)])
        return Timed(time.perf_counter() - start, int(received))

    return run


def compiled(program: Path, *flags: str, of: str) -> Path:
    """flow.cc for an ns-3, with the compiler's best; `of` is what its libraries are called."""
    libraries = [f"-l{of}-{module}" for module in MODULES]
    usual = ["-O3", "-Wl,--allow-shlib-undefined", str(HERE / "flow.cc")]
    subprocess.run(["g++", *usual, "-o", str(program), *flags, *libraries], check=True)
    return program


def of_pypi() -> Path:
    """The directory of ns-3's wheel, unpacked in the cache."""
    pinned = HERE / "requirements.lock"
    place = builds.directory() / "ns3" / builds.fingerprint([pinned])
    if not place.is_dir():
        place.parent.mkdir(exist_ok=True)
        with tempfile.TemporaryDirectory(dir=place.parent) as name:
            command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
            command += ["--require-hashes", "-r", str(pinned), "-d", name]
            subprocess.run(command, check=True)
            [wheel] = Path(name).glob("*.whl")
            with zipfile.ZipFile(wheel) as found:
                found.extractall(f"{name}/ns3")
            Path(f"{name}/ns3/ns3").rename(place)
    return place


def runners(folder: Path) -> dict[str, Runner]:
    """Who takes part; says who does not, and why."""
    usual = builds.DEFAULT_KERNEL
    found = {
        f"lab {usual}, recorded": lab(folder, recorded=True, kernel=usual),
        f"lab {usual}": lab(folder, recorded=False, kernel=usual),
    }
    if builds.built_kernel(NEWER):
        found[f"lab {NEWER}"] = lab(folder, recorded=False, kernel=NEWER)
    else:
        print(f"Linux {NEWER} is not built: ./sandglass setup --kernel {NEWER}", file=sys.stderr)
    if not shutil.which("g++"):
        print("no ns-3 takes part: there is no g++", file=sys.stderr)
        return found
    if Path("/usr/include/ns3").is_dir():
        found["ns-3 of Debian"] = simulator(compiled(folder / "debian", "-std=c++17", of="ns3"))
    else:
        print("ns-3 of Debian is not installed: apt install libns3-dev", file=sys.stderr)
    place = of_pypi()
    [core] = place.glob("lib64/libns3*-core.so")
    flags = ["-std=c++20", f"-I{place}/include", f"-L{place}/lib64", f"-Wl,-rpath,{place}/lib64"]
    of = core.name.removeprefix("lib").removesuffix("-core.so")
    found["ns-3 of PyPI"] = simulator(compiled(folder / "pypi", *flags, of=of))
    return found


@dataclass(frozen=True)
class Line:
    """What a scenario takes someone: a start, and so much for each virtual second."""

    start_s: float
    second_s: float
    segments: float
    """For each virtual second."""

    @classmethod
    def through(cls, scenario: Scenario, short: Timed, long: Timed) -> "Line":
        """The line through two runs."""
        more = scenario.long_s - scenario.short_s
        second = (long.seconds - short.seconds) / more
        segments = (long.received - short.received) / SEGMENT / more
        return cls(short.seconds - scenario.short_s * second, second, segments)

    @property
    def rate(self) -> float:
        """Segments for each real second, without the start."""
        return self.segments / self.second_s

    def crosses(self, other: "Line") -> float | None:
        """From which length in virtual s on this one is faster; None: never."""
        if self.second_s >= other.second_s:
            return None
        return max(0, (self.start_s - other.start_s) / (other.second_s - self.second_s))


def race(folder: Path) -> dict[str, dict[str, Line]]:
    """The lines by scenario and by who it is."""
    found: dict[str, dict[str, Line]] = {}
    taking_part = runners(folder)
    with Progress(console=Console(stderr=True), transient=True) as shown:
        task = shown.add_task("racing", total=len(SCENARIOS) * REPEATS * len(taking_part))
        for scenario in SCENARIOS:
            best: dict[tuple[str, float], Timed] = {}
            for _ in range(REPEATS):
                for name, run in taking_part.items():
                    for seconds in (scenario.short_s, scenario.long_s):
                        timed = run(scenario, seconds)
                        best[name, seconds] = min(timed, best.get((name, seconds), timed))
                    shown.advance(task)
            found[scenario.name] = {
                name: Line.through(
                    scenario, best[name, scenario.short_s], best[name, scenario.long_s]
                )
                for name in taking_part
            }
    return found


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        lines = race(Path(name))
    table = Table(box=None, pad_edge=False)
    for head in ("", "start (s)", "a second more (ms)", "segments a second"):
        table.add_column(head, justify="right" if head else "left")
    table.add_column("the recorded lab: times as fast, faster from", justify="right")
    for scenario, own in lines.items():
        table.add_row(scenario, style="bold")
        recorded = next(iter(own.values()))
        for name, line in own.items():
            since = recorded.crosses(line)
            beside = ""
            if name.startswith("ns-3"):
                from_s = "never" if since is None else f"{since:.1f} s on"
                beside = f"{recorded.rate / line.rate:.1f}, {from_s}"
            table.add_row(
                f"  {name}",
                f"{line.start_s:.2f}",
                f"{1000 * line.second_s:.2f}",
                f"{line.rate:,.0f}",
                beside,
            )
    Console(width=110).print(table)


if __name__ == "__main__":
    main()
