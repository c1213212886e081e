"""Labs of trees by their names: in the cache, in the list, and in an experiment's file."""

import json
import os
import time
from dataclasses import replace
from pathlib import Path

import pytest

from sandglass.errors import UsageError
from sandglass.experiment import kernel, python_file, reading
from sandglass.install import builds, labs
from tests.setup.test_kernel_build import build
from tests.setup.test_labs import ABOUT, cache, put_lab

__all__ = ["build", "cache"]

TREE = replace(
    ABOUT,
    id="eeeeeeeeeeee",
    name="7.3",
    kernel="7.3.1-g0123456789ab-key-cafe",
    tree="7.3.1-g0123456789ab",
)
EXPERIMENT = Path(builds.ROOT / "examples" / "codel.yaml")
LOST = "the seed: no run repeats"


@pytest.fixture
def named(cache: Path, monkeypatch: pytest.MonkeyPatch) -> builds.Lab:
    """A lab of a tree that somebody calls patched, beside another lab."""
    for name in builds.CHOOSE:
        monkeypatch.delenv(name, raising=False)
    put_lab(cache)
    put_lab(cache, replace(TREE, root="other-packages"))
    lab = replace(TREE, root="other-packages")
    info = {"source": f"tree {TREE.tree}", "release": "7.3.1-sandglass", "lost": [LOST]}
    (lab.places[0] / builds.BUILD_FILE).write_text(json.dumps(info))
    for name in (TREE.tree, "patched"):
        builds.call(lab, name)
    return lab


def test_a_lab_is_found_by_each_of_its_names(named: builds.Lab) -> None:
    for name in ("patched", TREE.tree, TREE.id, TREE.id[:4]):
        assert builds.lab_called(name) == named
    with pytest.raises(UsageError, match="no lab is called patch"):
        builds.lab_called("patch")


@pytest.fixture
def mininet(monkeypatch: pytest.MonkeyPatch) -> None:
    """Topologies find this machine's, also where another cache would have to make one."""
    paths = os.pathsep.join(map(str, python_file.python_path()))
    monkeypatch.setenv("SANDGLASS_PYTHON_PATH", paths)


@pytest.mark.usefixtures("mininet")
def test_an_experiment_names_it(named: builds.Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """The environment, and so `run --lab`, has the last word, as it has for a kernel."""
    wanted = kernel.wanted(reading.load(EXPERIMENT, ["lab=patched"]))
    assert wanted == "patched"
    with builds.on(wanted):
        assert builds.lab() == named
        assert builds.chosen_kernel() == "7.3"
        assert builds.lab_kernel().linux == named.places[0] / "linux"
        assert builds.chosen_root() == named.places[2]
        own = builds.lab_build()
        monkeypatch.setenv("SANDGLASS_LAB", ABOUT.id)
        assert builds.lab() == ABOUT
        assert builds.lab_build() != own


def test_a_name_that_no_lab_has_is_refused_with_those_that_are_there(named: builds.Lab) -> None:
    with pytest.raises(UsageError, match=r"no kernel: .* or what a lab is called: .*patched"):
        reading.load(EXPERIMENT, ["lab=other"])


def test_the_list_tells_of_name_tree_and_what_is_gone(
    named: builds.Lab, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "300")
    labs.report(builds.labs())
    [line] = [line for line in capsys.readouterr().out.splitlines() if TREE.id in line]
    assert "7.3.1 " in line
    assert f"called patched; of the tree {TREE.tree}; without {LOST}" in line
    assert "differs in kernel" not in line


def test_a_name_goes_to_the_lab_that_was_given_it_last(named: builds.Lab) -> None:
    builds.call(ABOUT, "patched")
    assert builds.lab_called("patched") == ABOUT
    assert builds.lab_called(TREE.tree) == named


def test_the_names_of_a_lab_that_is_gone_go(named: builds.Lab) -> None:
    labs.remove(named)
    builds.call(ABOUT, "base")
    assert builds.names() == {"base": ABOUT.id}


def test_a_lab_with_a_name_is_kept(named: builds.Lab) -> None:
    """One that has only what its tree is called, such as a bisection's, is not."""
    assert builds.is_kept(named.places[1])
    assert not builds.is_kept(ABOUT.places[1])
    builds.call(ABOUT, "6.12.3-g0123456789ab")
    assert not builds.is_kept(ABOUT.places[1])


def test_an_exported_lab_is_of_its_tree(named: builds.Lab, tmp_path: Path) -> None:
    labs.export(named, tmp_path / "file.lab")
    labs.remove(named)
    assert labs.take(tmp_path / "file.lab").tree == TREE.tree


@pytest.mark.parametrize("age_days", [0.5, 2])
def test_a_trees_kernel_that_nobody_uses_goes_after_a_day(
    build: object, named: builds.Lab, tmp_path: Path, age_days: float
) -> None:
    (builds.directory() / builds.NAMES / "patched").unlink()
    home, guest, _ = named.places
    for path in (*home.iterdir(), home):
        os.utime(path, (time.time() - age_days * 86400,) * 2)
    kernels = home.parent.iterdir()
    build.forget_unused(filter(build.is_of_tree, kernels), tmp_path, days=1)  # type: ignore[attr-defined]
    assert guest.exists() == (age_days < 1)
    assert ABOUT.places[0].exists()
