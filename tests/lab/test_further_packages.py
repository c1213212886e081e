"""Labs with programs that the list of every lab does not have, in a cache of their own."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from sandglass.install import builds
from tests.lab.conftest import command
from tests.lab.experiments import Lab, bulk, dumbbell, written

pytestmark = pytest.mark.lab
SHORT = dumbbell(bulk(), queue={"kind": "predict", "limit": 100}, duration="2s")
UNKNOWN = "no-package-of-debian"


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One with the kernel and the parts of the guest that are built already, and no lab."""
    home = builds.lab().places[0]
    guests = {about.parent.name for about in home.glob(f"*/{builds.LAB_FILE}")}
    target = tmp_path_factory.mktemp("cache") / "kernels" / home.name
    shutil.copytree(home, target, symlinks=True, ignore=lambda *_: guests)
    return target.parents[1]


def called(cache: Path, *words: object, **more: str) -> subprocess.CompletedProcess[str]:
    """A command, with this cache and more environment variables."""
    return subprocess.run(
        command(builds.ROOT, *words),
        env=os.environ | {"SANDGLASS_CACHE": str(cache)} | more,
        input="s1 echo 6*7 | bc\n",
        capture_output=True,
        text=True,
        check=False,
    )


def test_an_unknown_package_is_named_and_nothing_is_left(cache: Path) -> None:
    done = called(cache, "lab", "build", "--with", "bc", "--with", UNKNOWN)
    assert done.returncode == 1
    [said] = done.stderr.splitlines()
    assert said.endswith(f"has no package {UNKNOWN}")
    assert not (cache / "roots").exists()
    assert not list(cache.glob("root-*"))


@pytest.mark.thorough
def test_its_program_runs_and_all_else_is_the_same(cache: Path, lab: Lab, tmp_path: Path) -> None:
    built = called(cache, "lab", "build", "--with", "bc")
    assert built.returncode == 0, built.stderr
    name = built.stdout.splitlines()[-1].removeprefix("lab ")
    assert name != builds.lab().id
    [line] = called(cache, "lab", "list").stdout.splitlines()[1:]
    assert line.split()[0] == name
    assert line.rstrip().endswith("with bc")
    shell = called(cache, "shell", "topologies/dumbbell.py", SANDGLASS_LAB=name)
    assert "42" in shell.stdout.splitlines()
    source = written(SHORT, tmp_path / "e.yaml")
    ran = called(cache, "run", source, "--lab", name[:6], "--out", tmp_path / "run")
    assert f"digest {lab(SHORT).content['digest']}" in ran.stdout
