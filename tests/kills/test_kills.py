"""SIGKILL at random moments of what makes, writes and takes a lab: no half one is ever used.

    ./sandglass test tests/kills

Half an hour. What a kill has left is there when the next try begins.
"""

import hashlib
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from sandglass.install import builds, debian, labs, root
from tests.conftest import Say
from tests.lab.conftest import command
from tests.lab.experiments import bulk, dumbbell, run, written

pytestmark = pytest.mark.lab
SHORT = dumbbell(bulk(), queue={"kind": "predict", "limit": 100}, duration="1s")
KILLS = 50
TRY_EVERY = 10
ABSENT = "no lab is called"
NOTES = "aux-cache"
"""What ldconfig keeps of files' inodes, which no lab sees: its /var is in memory."""
MAKE_ROOT = """
import sys
from pathlib import Path
from sandglass.install import debian, root
debian.download = lambda *_: sorted(Path(sys.argv[1]).glob("*.deb"))
root.make()
"""

Outcome = Callable[[], bool]
"""Whether what is made is there and whole; fails when it is half there."""


def environment(cache: Path) -> dict[str, str]:
    """A user's, with a cache."""
    return os.environ | {"SANDGLASS_CACHE": str(cache), "PYTHONPATH": str(builds.ROOT / "src")}


def called(cache: Path, *words: object) -> subprocess.CompletedProcess[str]:
    """A command of Sandglass's with a cache."""
    return subprocess.run(
        command(builds.ROOT, *words),
        env=environment(cache),
        capture_output=True,
        text=True,
        check=False,
    )


def kill(work: list[str], cache: Path, whole: Outcome, again: Callable[[], None], say: Say) -> None:
    """Kill a process and all its children at KILLS moments.

    After some of them it is done to its end, which has to work. `again` takes away what is whole.
    """
    start = time.monotonic()
    subprocess.run(work, env=environment(cache), stdout=subprocess.DEVNULL, check=True)
    lasts_s = time.monotonic() - start
    assert whole()
    again()
    moments = random.Random(1)
    done = 0
    for number in range(1, KILLS + 1):
        with subprocess.Popen(
            work,
            env=environment(cache),
            start_new_session=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        ) as process:
            try:
                process.wait(moments.uniform(0, lasts_s))
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
        is_done = whole()
        done += is_done
        if number % TRY_EVERY == 0:
            if not is_done:
                subprocess.run(work, env=environment(cache), stdout=subprocess.DEVNULL, check=True)
                assert whole()
            say(f"{number} kills: after {done} it was there, after none it was half there")
        if is_done or number % TRY_EVERY == 0:
            again()


@pytest.fixture
def runs(tmp_path: Path) -> Callable[[Path], bool]:
    """Whether a run in the lab in use, in a cache, gives the known digest; else it is not there."""
    digest = run(SHORT, tmp_path).content["digest"]
    source = written(SHORT, tmp_path / "e.yaml")

    def known(cache: Path) -> bool:
        shutil.rmtree(tmp_path / "run", ignore_errors=True)
        words = ("run", source, "--lab", builds.lab().id, "--out", tmp_path / "run")
        done = called(cache, *words)
        if done.returncode == 0:
            assert f"digest {digest}" in done.stdout
        else:
            assert ABSENT in done.stderr, done.stderr
        return done.returncode == 0

    return known


def contents(folder: Path) -> dict[str, str]:
    """What lies below a folder: a checksum of each file, and where links point."""
    return {
        str(path.relative_to(folder)): str(path.readlink())
        if path.is_symlink()
        else hashlib.sha256(path.read_bytes()).hexdigest()
        for path in folder.rglob("*")
        if path.is_symlink() or (path.is_file() and path.name != NOTES)
    }


def copied(cache: Path, *, parts: bool) -> Path:
    """The kernel's directory without guests, in another cache."""
    home = builds.lab().places[0]
    left = {about.parent.name for about in home.glob(f"*/{builds.LAB_FILE}")}
    left |= set() if parts else {"parts"}
    target = cache / "kernels" / home.name
    shutil.copytree(home, target, symlinks=True, ignore=lambda *_: left)
    return target


def test_export(tmp_path: Path, say: Say) -> None:
    labs.export(builds.lab(), tmp_path / "whole.lab")
    whole, made = (tmp_path / "whole.lab").read_bytes(), tmp_path / "made.lab"

    def is_whole() -> bool:
        assert not made.exists() or made.read_bytes() == whole
        return made.exists()

    work = command(builds.ROOT, "lab", "export", made)
    kill(work, builds.directory(), is_whole, made.unlink, say)


def test_import(tmp_path: Path, runs: Callable[[Path], bool], say: Say) -> None:
    cache = tmp_path / "cache"
    labs.export(builds.lab(), tmp_path / "whole.lab")
    work = command(builds.ROOT, "lab", "import", tmp_path / "whole.lab")

    def again() -> None:
        for name in ("kernels", "roots"):
            shutil.rmtree(cache / name)

    kill(work, cache, lambda: runs(cache), again, say)


def test_build_of_modules(tmp_path: Path, runs: Callable[[Path], bool], say: Say) -> None:
    cache = tmp_path / "cache"
    home = copied(cache, parts=False)
    programs = builds.lab().places[2]
    shutil.copytree(programs, cache / "roots" / programs.name, symlinks=True)

    def again() -> None:
        shutil.rmtree(home / "parts")
        shutil.rmtree(home / builds.lab().guest)

    work = command(builds.ROOT, "lab", "build")
    kill(work, cache, lambda: runs(cache), again, say)


def test_build_of_the_root(tmp_path: Path, runs: Callable[[Path], bool], say: Say) -> None:
    """Of packages that are downloaded once. A lab is built upon it then."""
    cache, debs = tmp_path / "cache", tmp_path / "debs"
    copied(cache, parts=True)
    wanted = root.wanted((builds.ROOT / builds.ROOT_PACKAGES).read_text())
    debian.download(wanted, builds.SUITE, debs)
    roots = cache / "roots"
    work = [sys.executable, "-c", MAKE_ROOT, str(debs)]
    subprocess.run(work, env=environment(cache), stdout=subprocess.DEVNULL, check=True)
    first = contents(roots)
    shutil.rmtree(roots)

    def whole() -> bool:
        there = roots.exists() and any(roots.iterdir())
        assert not there or contents(roots) == first
        return there

    kill(work, cache, whole, lambda: shutil.rmtree(roots), say)
    assert called(cache, "lab", "build").returncode == 0
    listed = called(cache, "lab", "list").stdout
    if builds.lab().id in listed:  # Debian has the packages still that are in use here
        assert runs(cache)
