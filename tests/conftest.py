"""What all tests have in common.

They are divided among processes (pytest-xdist). What is costly is made once: whoever needs it first
makes it, in a directory that all know, and the others wait for it.
"""

import contextlib
import fcntl
import os
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis.configuration import set_hypothesis_home_dir

from sandglass.install import builds

# A shell has what it starts in the background ignore interrupts, and that is handed down.
signal.signal(signal.SIGINT, signal.default_int_handler)

# How long an example takes depends on what else the machine does.
settings.register_profile("sandglass", deadline=None)
settings.load_profile("sandglass")
set_hypothesis_home_dir(builds.directory() / "hypothesis")  # not the checkout

# What is tested runs: a run that an earlier test or a user has kept would show nothing.
os.environ["SANDGLASS_RUNS_LIMIT"] = "0"

Reproduced = Callable[[str], Path]
Say = Callable[[str], None]
NOT_COPIED = (".*", "results")


@pytest.fixture(scope="session")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory that is the same in all processes of the tests."""
    own = tmp_path_factory.getbasetemp()
    return own.parent if "PYTEST_XDIST_WORKER" in os.environ else own


@contextlib.contextmanager
def one_at_a_time(path: Path) -> Iterator[None]:
    """Waits until no other process of the tests is in a block with the same path."""
    with path.open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def copy_checkout(target: Path) -> Path:
    """A copy of this checkout without what git and the tools keep in it, and without results."""

    def left_out(folder: str, names: list[str]) -> set[str]:
        top = NOT_COPIED if Path(folder) == builds.ROOT else ()
        return shutil.ignore_patterns(*top, "__pycache__")(folder, names)

    return Path(shutil.copytree(builds.ROOT, target, ignore=left_out))


@pytest.fixture(scope="session")
def say(request: pytest.FixtureRequest) -> Say:
    """Tells what a slow test is at, while it is."""
    capture = request.config.pluginmanager.get_plugin("capturemanager")
    assert capture

    def tell(text: str) -> None:
        with capture.global_and_fixture_disabled():
            print(f"\n{text}", end="", flush=True)

    return tell


@pytest.fixture(scope="session")
def clone(shared: Path) -> Path:
    """A copy of this checkout for commands that write into theirs, one for all tests."""
    with one_at_a_time(shared / "clone.lock"):
        if not (shared / "clone").exists():
            copy_checkout(shared / "clone.partial").rename(shared / "clone")
    return shared / "clone"


@pytest.fixture(scope="session")
def reproduced(shared: Path, clone: Path) -> Reproduced:
    """The results of `./sandglass reproduce PAPER --profile smoke`, which is run once."""

    def results(paper: str) -> Path:
        done = shared / f"{paper}.reproduced"
        with one_at_a_time(shared / "reproduce.lock"):
            if not done.exists():
                command = [str(clone / "sandglass"), "reproduce", paper, "--profile", "smoke"]
                ran = subprocess.run(command, capture_output=True, text=True, check=False)
                assert ran.returncode == 0, ran.stdout + ran.stderr
                done.touch()
        return clone / "results" / paper

    return results


@pytest.fixture
def terminals() -> None:
    """Skips where there are none to be had."""
    try:
        ends = os.openpty()
    except OSError as error:
        pytest.skip(f"no terminals here: {error}")
    for end in ends:
        os.close(end)
