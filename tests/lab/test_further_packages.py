"""Labs with programs that the list of every lab does not have, in a cache of their own."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from sandglass.errors import UsageError
from sandglass.install import builds
from sandglass.results import document
from tests.lab.conftest import command
from tests.lab.experiments import Lab, bulk, dumbbell, flow, written

pytestmark = pytest.mark.lab
SHORT = dumbbell(bulk(), queue={"kind": "predict", "limit": 100}, duration="2s")
UNKNOWN = "no-package-of-debian"


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One with kernel, programs and the parts of the guest that are built already, and no lab."""
    home, _, root = builds.lab().places
    guests = {about.parent.name for about in home.glob(f"*/{builds.LAB_FILE}")}
    target = tmp_path_factory.mktemp("cache")
    ours = target / "kernels" / home.name
    shutil.copytree(home, ours, symlinks=True, ignore=lambda *_: guests)
    shutil.copytree(root, target / "roots" / root.name, symlinks=True)
    return target


def roots(cache: Path) -> list[Path]:
    return [*(cache / "roots").iterdir(), *cache.glob("root-*")]


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
    assert done.returncode == 2
    [said] = done.stderr.splitlines()
    assert said.endswith(f"has no package {UNKNOWN}")
    assert len(roots(cache)) == 1


def asking(package: str, home: Path) -> Path:
    """An experiment that names a package and starts its program."""
    told = flow("command", argv=["bc", "--version"])
    experiment = dumbbell(told, queue={"kind": "pfifo"}, duration="1s") | {"packages": [package]}
    return written(experiment, home / "asking.yaml")


def test_an_experiment_that_names_an_unknown_package_is_refused(
    cache: Path, tmp_path: Path
) -> None:
    done = called(cache, "run", asking(UNKNOWN, tmp_path), "--out", tmp_path / "run")
    assert done.returncode == 2
    [said] = done.stderr.splitlines()
    assert said.endswith(f"has no package {UNKNOWN}")
    assert len(roots(cache)) == 1
    assert not (tmp_path / "run").exists()


def test_a_chosen_lab_has_to_have_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SANDGLASS_LAB", builds.lab().id)
    with builds.on(None, ["bash"]):
        assert builds.lab().packages == []
    with builds.on(None, ["bash", "bc"]), pytest.raises(UsageError, match="has no package bc, "):
        builds.lab()


@pytest.mark.thorough
def test_an_experiment_has_the_packages_that_it_names(cache: Path, tmp_path: Path) -> None:
    asked = asking("bc", tmp_path)
    first = called(cache, "run", asked, "--out", tmp_path / "first")
    assert first.returncode == 0, first.stderr
    content = document.read(tmp_path / "first")
    assert content["packages"].keys() == {"bc"}
    upstream = content["packages"]["bc"].partition("-")[0]
    assert f"bc {upstream}\n" in (tmp_path / "first" / "command-1.txt").read_text()
    again = called(cache, "run", asked, "--out", tmp_path / "again")
    assert again.returncode == 0, again.stderr
    assert "build" not in again.stdout + again.stderr
    assert document.read(tmp_path / "again")["digest"] == content["digest"]


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
