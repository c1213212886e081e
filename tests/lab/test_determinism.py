"""Same experiment, same bytes: whoever runs it, wherever, and whatever else the machine does."""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from sandglass.experiment import reading
from sandglass.install import builds
from sandglass.lab import lab
from sandglass.run import runs
from tests.lab.conftest import command
from tests.lab.experiments import Lab, bulk, dumbbell

pytestmark = pytest.mark.lab
EXAMPLES = {"codel": "90s", "hosts": "10s", "ten_flows_ovs": "5s"}
NOBODY = 65534
NEEDS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")


@pytest.fixture(scope="module", params=list(EXAMPLES.items()), ids=list(EXAMPLES))
def example(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, str]:
    """An example of the repository, and its digest as found by a run in this process."""
    name, duration = request.param
    text = (builds.ROOT / "examples" / f"{name}.yaml").read_text()
    directory = tmp_path_factory.mktemp(name)
    source = directory / "example.yaml"
    lasting = [
        f"duration: {duration}\n" if line[:9] == "duration:" else line
        for line in text.splitlines(True)
    ]
    source.write_text("".join(lasting))
    result = runs.run(reading.load(source), source, directory / "first")
    assert result.content["virtual_s"] == float(duration[:-1])
    return source, result.content["digest"]


def digest(words: list[str], directory: Path) -> str:
    """The digest that a run's command prints."""
    done = subprocess.run(
        words, cwd=directory, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL
    )
    assert done.returncode == 0, done.stderr
    [line] = (line for line in done.stdout.splitlines() if line.startswith("digest "))
    return line.removeprefix("digest ")


def test_again(example: tuple[Path, str], tmp_path: Path) -> None:
    source, expected = example
    for number in range(2):
        assert (
            digest(command(builds.ROOT, "run", source, "--out", tmp_path / str(number)), tmp_path)
            == expected
        )


def test_from_another_directory_under_another_name(
    example: tuple[Path, str], tmp_path: Path
) -> None:
    source, expected = example
    elsewhere = tmp_path / "a directory with a long name" / "and another"
    elsewhere.mkdir(parents=True)
    shutil.copy(source, elsewhere / "renamed.yaml")
    words = command(builds.ROOT, "run", "renamed.yaml", "--out", "here")
    assert digest(words, elsewhere) == expected


def test_from_another_checkout(example: tuple[Path, str], checkout: Path, tmp_path: Path) -> None:
    source, expected = example
    assert digest(command(checkout, "run", source, "--out", tmp_path / "out"), tmp_path) == expected


def test_whatever_came_before(example: tuple[Path, str], checkout: Path, tmp_path: Path) -> None:
    """Processes and clock reads before time zero, as where other files take other ways to read."""
    source, expected = example
    agent = checkout / "src" / "sandglass" / "agent" / "__main__.py"
    text = agent.read_text()
    first = "    added = modules.load(plan, module_base)\n"
    assert text.count(first) == 1
    more = """\
    import subprocess
    for _ in range(777):
        time.monotonic()
    subprocess.run(["ls", "-R", "/sys"], stdout=subprocess.DEVNULL, check=False)
"""
    agent.write_text(text.replace(first, more + first))
    assert digest(command(checkout, "run", source, "--out", tmp_path / "out"), tmp_path) == expected


@pytest.mark.parametrize(
    "before",
    [
        ["sh", "-c", 'exec "$@" <&-', "sh"],
        ["nice", "-n", "15"],
        ["env", "LC_ALL=C.UTF-8", "TZ=Asia/Tokyo", "A_LONG_VARIABLE=" + "x" * 5000],
    ],
    ids=["stdin-closed", "nice", "environment"],
)
def test_started_otherwise(example: tuple[Path, str], tmp_path: Path, before: list[str]) -> None:
    source, expected = example
    words = command(builds.ROOT, "run", source, "--out", tmp_path / "out")
    assert digest([*before, *words], tmp_path) == expected


@contextlib.contextmanager
def busy_processors() -> Iterator[None]:
    """Each processor has other work to do."""
    with contextlib.ExitStack() as stack:
        for _ in os.sched_getaffinity(0):
            process = subprocess.Popen([sys.executable, "-c", "while True: pass"])
            stack.callback(process.wait)
            stack.callback(process.kill)
        yield


@pytest.mark.thorough
def test_on_a_busy_machine(example: tuple[Path, str], tmp_path: Path) -> None:
    source, expected = example
    with busy_processors():
        words = command(builds.ROOT, "run", source, "--out", tmp_path / "out")
        assert digest(words, tmp_path) == expected


def stop_and_go(running: int) -> int:
    """Stop a lab and let it go on, again and again until it ends; returns how often it stopped."""
    stops = 0
    with contextlib.suppress(ProcessLookupError, ChildProcessError):  # somebody else waited for it
        while True:
            signal.pidfd_send_signal(running, signal.SIGSTOP)
            change = os.waitid(os.P_PIDFD, running, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
            if change is None or change.si_code != os.CLD_STOPPED:
                break
            stops += 1
            signal.pidfd_send_signal(running, signal.SIGCONT)
            time.sleep(0.05)  # it would get nowhere if it were stopped all the time
    return stops


def test_stopped_and_continued(
    example: tuple[Path, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, expected = example
    start = lab._start

    with contextlib.ExitStack() as stack, ThreadPoolExecutor() as beside:
        stops: list[Future[int]] = []

        def started(*words: Any, **keys: Any) -> "subprocess.Popen[bytes]":
            process = start(*words, **keys)
            running = os.pidfd_open(process.pid)
            stack.callback(os.close, running)
            stops.append(beside.submit(stop_and_go, running))
            return process

        monkeypatch.setattr(lab, "_start", started)
        result = runs.run(reading.load(source), source, tmp_path / "out")
        [stopped] = stops
        assert stopped.result() > 0
    assert result.content["digest"] == expected


AS_ANOTHER = """
import os, sys
from pathlib import Path
from sandglass.run import runs
from sandglass.experiment import reading
experiment, out = reading.load(sys.argv[1]), Path(sys.argv[2])
runs.run(experiment, None, out / "root")  # imports what the other user may not be able to read
os.setgroups([])
os.setgid(int(sys.argv[3]))
os.setuid(int(sys.argv[3]))
os.environ["SANDGLASS_CACHE"] = str(out / "cache")
print(runs.run(experiment, None, out / "other").content["digest"])
"""


@pytest.mark.thorough
@NEEDS_ROOT
def test_as_another_user(
    example: tuple[Path, str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    """With a cache of its own, since the real one may lie in root's home directory."""
    source, expected = example
    if any(not parent.stat().st_mode & 0o001 for parent in builds.ROOT.parents):
        pytest.skip("this checkout lies where other users cannot read it")
    place = Path(
        subprocess.run(["mktemp", "-d"], capture_output=True, text=True, check=True).stdout.strip()
    )
    try:
        place.chmod(0o777)
        kernel = builds.lab_kernel()
        copy = place / "cache" / "kernels" / kernel.linux.parent.name
        copy.mkdir(parents=True)
        for file in (kernel.linux, kernel.linux.parent / "build.json"):
            shutil.copy2(file, copy)
        shutil.copytree(kernel.init.parent, copy / kernel.init.parent.name)
        (place / "cache" / "roots").mkdir()
        shutil.copytree(
            kernel.root.parent, place / "cache" / "roots" / kernel.root.parent.name, symlinks=True
        )
        words = [sys.executable, "-c", AS_ANOTHER, source, place, NOBODY]
        done = subprocess.run(
            list(map(str, words)),
            env=os.environ | {"PYTHONPATH": str(builds.ROOT / "src")},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        assert (place / "other" / "run.json").stat().st_uid == NOBODY
        assert done.stdout.strip() == expected
    finally:
        shutil.rmtree(place)


def test_whatever_memory_the_lab_has(lab: Lab) -> None:
    """With more in sockets than the kernel by itself would let a small lab's TCP have."""
    keys = {"rtt": "800ms", "rate": "100mbit", "duration": "9s", "record": ["packets"]}
    queue = {"kind": "pfifo", "limit": "1bdp"}
    little, much = (
        lab(dumbbell(bulk(), queue=queue, memory=memory, **keys)) for memory in ("128MB", "512MB")
    )
    assert little.content["digest"] == much.content["digest"]


def test_another_seed_is_another_run(lab: Lab) -> None:
    """In what PIE draws, and so in how TCP fares; not only in addresses and ports."""
    experiment = dumbbell(bulk(cc="reno"), queue={"kind": "pie"}, duration="20s")
    first, second = lab(experiment, seed=1), lab(experiment, seed=2)
    assert first.content["digest"] != second.content["digest"]
    assert first.content["flows"][0]["bytes"] != second.content["flows"][0]["bytes"]
    assert lab(experiment).content["digest"] == first.content["digest"]
