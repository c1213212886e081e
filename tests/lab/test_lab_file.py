"""A lab's file on another machine: one with Python and this checkout, and nothing else."""

import shutil
import subprocess
from pathlib import Path

import pytest

from sandglass.install import builds, labs
from tests.conftest import copy_checkout, one_at_a_time
from tests.lab.conftest import command
from tests.lab.experiments import Lab, Mapped, bulk, dumbbell, flow, written

pytestmark = [pytest.mark.lab, pytest.mark.thorough]
SHORT = dumbbell(bulk(), queue={"kind": "predict", "limit": 100}, duration="2s")
SWITCHES = dumbbell(bulk(), topology="dumbbell_ovs", queue={"kind": "codel"}, duration="2s")
DOWNLOAD = dumbbell(flow("http", size="1MB"), queue={"kind": "pie"}, duration="2s")


@pytest.fixture(scope="module")
def file(shared: Path) -> Path:
    """The file of the lab in use, which is written once."""
    with one_at_a_time(shared / "lab-file.lock"):
        if not (shared / "file.lab").exists():
            labs.export(builds.lab(), shared / "file.lab")
    return shared / "file.lab"


@pytest.fixture(scope="module")
def gone_on(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkout whose own lab is another."""
    checkout = copy_checkout(tmp_path_factory.mktemp("gone-on") / "checkout")
    for name in ("kernel/lab.config", "kmods/sch_predict/predict.h", "setup/packages-lab.txt"):
        with (checkout / name).open("a") as changed:
            changed.write("\n")
    return checkout


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory, file: Path, gone_on: Path) -> dict[str, str]:
    """Environment variables of one that knows no compiler, no package manager and no Mininet.

    It has the lab of the file, and keeps no runs.
    """
    home = tmp_path_factory.mktemp("machine")
    programs = home / "programs"
    programs.mkdir()
    for name in ("bash", "python3"):
        (programs / name).symlink_to(shutil.which(name) or "")
    machine = {
        "PATH": str(programs),
        "HOME": "/",
        "SANDGLASS_CACHE": str(home / "cache"),
        "SANDGLASS_RUNS_LIMIT": "0",
    }
    called(machine, gone_on, "lab", "import", file)  # whose it is does not matter
    return machine


def called(machine: dict[str, str], root: Path, *words: object) -> str:
    """What a command of a checkout says on a machine."""
    done = subprocess.run(
        command(root, *words), env=machine, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.thorough
@pytest.mark.parametrize("experiment", [SHORT, SWITCHES, DOWNLOAD], ids=["own", "ovs", "http"])
def test_runs_on_another_machine_are_equal(
    lab: Lab, machine: dict[str, str], tmp_path: Path, experiment: Mapped
) -> None:
    here = lab(experiment)
    source = written(experiment, tmp_path / "e.yaml")
    said = called(machine, builds.ROOT, "run", source, "--out", tmp_path / "there")
    assert f"digest {here.content['digest']}" in said


def test_a_checkout_that_has_gone_on_runs_in_a_lab_that_was_kept(
    lab: Lab, machine: dict[str, str], gone_on: Path, tmp_path: Path
) -> None:
    here = lab(SHORT)
    name = builds.lab().id
    assert name in called(machine, gone_on, "lab", "list")
    source = written(SHORT, tmp_path / "e.yaml")
    said = called(machine, gone_on, "run", source, "--lab", name[:6], "--out", tmp_path / "there")
    assert f"digest {here.content['digest']}" in said
    assert f'"lab": "{name}"' in (tmp_path / "there" / "run.json").read_text()
