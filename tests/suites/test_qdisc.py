"""Qdiscs: how one is found by its name or by a path, and what its options are."""

import os
from pathlib import Path

import pytest

from sandglass.errors import UsageError
from sandglass.install.builds import ROOT
from sandglass.suites import qdisc


def module(home: Path, name: str) -> Path:
    folder = home / name
    folder.mkdir(parents=True)
    (folder / "Kbuild").write_text(f"obj-m += {name}.o\n")
    (folder / f"{name}.c").write_text("register_qdisc(&ops);\n")
    return folder


@pytest.fixture(autouse=True)
def _no_modules_of_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SANDGLASS_KMODS", "")


def test_a_name_is_a_qdisc_of_mainline_or_of_ours() -> None:
    assert [qdisc.found(name) for name in ("codel", "hred")] == ["codel", "hred"]


def test_a_path_is_a_module_or_a_repository_with_one(tmp_path: Path) -> None:
    folder = module(tmp_path / "kmods", "sch_mine")
    for path in (folder, tmp_path):
        assert qdisc.found(str(path)) == "mine"
        assert os.environ["SANDGLASS_KMODS"] == str(tmp_path / "kmods")


def test_a_path_to_one_of_ours_is_ours() -> None:
    assert qdisc.found(str(ROOT / "kmods" / "sch_pi2")) == "pi2"
    assert os.environ["SANDGLASS_KMODS"] == ""


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("codle", "unknown qdisc 'codle', did you mean 'codel'? There are bfifo, "),
        ("htb", "htb is no queue by itself"),
        ("./nowhere", "nowhere: no such folder"),
    ],
)
def test_what_is_no_qdisc_is_refused(name: str, said: str) -> None:
    with pytest.raises(UsageError) as refused:
        qdisc.found(name)
    assert refused.value.message.startswith(said)


def test_a_folder_without_a_module_or_with_two_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="has no module of a qdisc"):
        qdisc.found(str(tmp_path))
    module(tmp_path / "kmods", "sch_one")
    module(tmp_path / "kmods", "sch_two")
    with pytest.raises(UsageError, match="has several qdiscs: one, two"):
        qdisc.found(str(tmp_path))


def test_options_that_a_qdisc_takes_are_known() -> None:
    assert qdisc.fits("codel", "ecn")
    assert not qdisc.fits("pfifo", "ecn")
    assert not qdisc.fits("cake", "limit")
    assert qdisc.fits("hred", "ecn")
    assert qdisc.fits("hred", "limit")
    assert not qdisc.fits("hred", "nothing")


def test_numbers_are_halved_and_doubled() -> None:
    found = qdisc.tuned("codel")
    assert found == {"target": ("2500us", "10ms"), "interval": ("50ms", "200ms")}
    # Of alpha, 5, there is no half: it is a whole number.
    assert qdisc.tuned("pi2") == {
        "target": ("10ms", "40ms"),
        "tupdate": ("16ms", "64ms"),
        "beta": ("25", "100"),
    }
    assert qdisc.tuned("pie")["beta"] == ("8", "32")  # at most 32
    assert qdisc.tuned("pfifo") == {}
