"""A run leaves the machine as it found it, however it ends."""

import ctypes
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from sandglass.install import builds
from sandglass.run import place
from tests.lab.conftest import Cli
from tests.lab.experiments import bulk, dumbbell, written

pytestmark = pytest.mark.lab
PR_SET_CHILD_SUBREAPER = 36  # <linux/prctl.h>
GONE_WITHIN_S = 60.0
LONG = "300s"
"""Of virtual time, so that much of it is left when the first progress shows."""
NAMESPACES = Path("/run/netns")
# They count what goes on, on the host and beside us.
COUNTERS = ("nf_conntrack_count", "tcp_mem_pressure")


def names(directory: Path) -> list[str]:
    """What stands in a directory."""
    return sorted(path.name for path in directory.iterdir())


def links() -> list[tuple[str, ...]]:
    """Name, number, flags, MTU and address of each interface."""
    told = ("ifindex", "flags", "mtu", "address")
    return [
        (link.name, *((link / name).read_text().strip() for name in told))
        for link in sorted(Path("/sys/class/net").iterdir())
        if link.is_dir()
    ]


def settings() -> dict[str, str]:
    """Every sysctl of the network that can be read."""
    found = {}
    for path in Path("/proc/sys/net").rglob("*"):
        if path.is_file() and path.name not in COUNTERS:
            try:
                found[str(path)] = path.read_text()
            except OSError:
                continue
    return found


def modules() -> list[str]:
    """Loaded kernel modules; none where the machine's kernel knows of none."""
    listed = Path("/proc/modules")
    lines = listed.read_text().splitlines() if listed.exists() else []
    return sorted(line.split()[0] for line in lines)


def machine(temporary: Path) -> dict[str, Any]:
    """What a run must leave alone."""
    return {
        "links": links(),
        "addresses": Path("/proc/net/fib_trie").read_text(),
        "namespaces": names(NAMESPACES) if NAMESPACES.is_dir() else [],
        "sysctls": settings(),
        "modules": modules(),
        "mounts": Path("/proc/self/mountinfo").read_text(),
        "temporary files": names(temporary),
        "checkout": names(builds.ROOT),
    }


def descendants() -> list[str]:
    """Commands of all processes that descend from this one, orphans too; none is a zombie."""
    while True:  # what ended is collected first
        try:
            if os.waitpid(-1, os.WNOHANG)[0] == 0:
                break
        except ChildProcessError:
            return []
    parents: dict[int, int] = {}
    for entry in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = entry.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        parents[int(entry.parent.name)] = int(fields[1])
    ours = {os.getpid()}
    while more := {child for child, parent in parents.items() if parent in ours} - ours:
        ours |= more
    return [f"/proc/{number}" for number in ours - {os.getpid()}]


@pytest.fixture
def adopted() -> Iterator[None]:
    """Orphans of our children become ours, so that none can hide."""
    libc = ctypes.CDLL(None)
    libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    yield
    libc.prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory of our own for temporary files, the lab's memory among them."""
    path = tmp_path / "temporary"
    path.mkdir()
    monkeypatch.setenv("TMPDIR", str(path))
    return path


@pytest.fixture
def experiment(tmp_path: Path) -> Path:
    """Takes a second or two."""
    flows = [bulk(f"s{n}", f"d{n}") for n in range(1, 5)]
    text = dumbbell(*flows, queue={"kind": "fq_codel"}, rate="40mbit", pairs=4, duration="60s")
    return written(text, tmp_path / "experiment.yaml")


@pytest.mark.usefixtures("adopted")
def test_a_run_leaves_nothing_but_its_results(
    sandglass: Cli, experiment: Path, tmp_path: Path, temporary: Path
) -> None:
    before = machine(temporary)
    done = sandglass("run", experiment, "--out", tmp_path / "results" / "out")
    assert done.returncode == 0, done.stderr
    assert machine(temporary) == before
    assert descendants() == []
    assert names(tmp_path / "results") == ["out"]


A_LONG_RUN = f"""
import sys
from pathlib import Path
from sandglass.experiment import reading
from sandglass.run import runs
from sandglass.terminal import program

source, out, mark = map(Path, sys.argv[1:])
wanted = reading.load(source, ["duration={LONG}"])
program(lambda: runs.run(wanted, source, out, progress=lambda done, whole: mark.touch()))
"""
"""What `./sandglass run` does, but that a file tells of progress, and no terminal is needed."""


def boots(results: Path, progress: Path) -> bool:
    """Whether a lab is being started."""
    return any(results.glob(".out.*/console.log"))


def gets_on(results: Path, progress: Path) -> bool:
    """Whether it has told of progress."""
    return progress.exists()


@pytest.mark.usefixtures("adopted")
@pytest.mark.parametrize("ending", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("when", [boots, gets_on])
def test_a_run_that_is_killed_leaves_nothing_that_looks_like_a_result(
    sandglass: Cli,
    experiment: Path,
    tmp_path: Path,
    temporary: Path,
    ending: signal.Signals,
    when: Callable[[Path, Path], bool],
) -> None:
    results, out = tmp_path / "results", tmp_path / "results" / "out"
    before = machine(temporary)
    progress, said = tmp_path / "progress", tmp_path / "said"
    with (
        said.open("w") as stderr,
        subprocess.Popen(
            [sys.executable, "-c", A_LONG_RUN, experiment, out, progress],
            env=os.environ | {"PYTHONPATH": str(builds.ROOT / "src")},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=stderr,
        ) as process,
    ):
        while not when(results, progress):
            assert process.poll() is None, "the run is to be killed in the middle"
            time.sleep(0.005)
        assert descendants()
        process.send_signal(ending)
    assert process.returncode != 0
    assert "Traceback" not in said.read_text()
    deadline = time.monotonic() + GONE_WITHIN_S
    while descendants() and time.monotonic() < deadline:
        time.sleep(0.02)
    assert descendants() == []
    assert machine(temporary) == before
    assert not out.exists()
    assert not list(results.rglob("run.json"))

    again = sandglass("run", experiment, "--out", out, "--set", "duration=1s")
    assert again.returncode == 0, again.stderr
    assert names(results) == ["out"]
    assert (out / "run.json").is_file()


def test_what_a_killed_run_left_goes(sandglass: Cli, experiment: Path, tmp_path: Path) -> None:
    results = tmp_path / "results"
    left, other = (results / f".{name}" for name in ("out.partial-1", "x.partial-1"))
    for directory in (left, other):
        directory.mkdir(parents=True)
    done = sandglass("run", experiment, "--out", results / "out", "--set", "duration=1s")
    assert done.returncode == 0, done.stderr
    assert names(results) == [other.name, "out"]


def test_of_two_runs_to_one_place_the_second_is_refused(
    sandglass: Cli, experiment: Path, tmp_path: Path
) -> None:
    """By a lock: in a container or on another node a number of a process is somebody else's."""
    out = tmp_path / "results" / "out"
    with place.building(out) as at_work:
        done = sandglass("run", experiment, "--out", out, "--set", "duration=1s")
        assert done.returncode == 2
        assert f"another run is being written to {out}" in done.stderr
        assert at_work.is_dir()
    done = sandglass("run", experiment, "--out", out, "--set", "duration=1s")
    assert done.returncode == 0, done.stderr
