"""Our patches on a tree of somebody's: which fit, and what is gone where one does not."""

import subprocess
from pathlib import Path

import pytest

from sandglass.errors import SandglassError
from sandglass.install import builds, patching
from tests.setup import trees

OURS = sorted((builds.ROOT / "kernel").glob("*/*/*.patch"))
EXACT = "one\ntwo\nticks of 1 ns\nfour\nfive\n"


def test_every_patch_says_what_it_is_for() -> None:
    """And nothing is said of one that is not there."""
    assert patching.guarantees().keys() == {path.stem for path in OURS}
    for each in patching.guarantees().values():
        assert each.keeps
        assert not each.keeps.endswith(".")


def test_what_seals_a_lab_is_needed() -> None:
    """So is what the recorder cannot do without."""
    needed = {name[:4] for name, each in patching.guarantees().items() if each.needed}
    assert needed == {"0002", "0005", "0017", "0021"}


@pytest.mark.parametrize(
    ("series", "first"), [("6.6", "6.12"), ("6.13", "6.12"), ("6.19", "7.2"), ("7.9", "7.2")]
)
def test_the_nearest_series_is_tried_first(series: str, first: str) -> None:
    assert patching.nearest(series, patching.PATCHES)[0].name == first


def test_a_release_may_have_a_variant_of_a_patch() -> None:
    name = "0019-um-random-numbers-of-the-labs-for-the-processors"
    assert [path.parent.name for path in patching.patches("7.3")[name]] == ["7.3", "7.2", "6.12"]


def test_a_release_may_have_options_of_its_own() -> None:
    assert "CONFIG_SYSCTL=y" in patching.options("7.3")
    assert patching.options("6.12") == patching.options("7.2") == ""


@pytest.fixture
def files(tmp_path: Path) -> Path:
    return trees.make(tmp_path / "linux")


@pytest.fixture
def series(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two patches of two series, made for a test."""
    texts = {"6.12": "", "7.2": " beyond"}
    for kernel, more in texts.items():
        folder = tmp_path / "kernel" / "patches" / kernel
        folder.mkdir(parents=True)
        clock = trees.CLOCK.replace("two", f"two{more}")
        write(folder / "0001-clock.patch", "arch/um/time.c", clock, clock.replace("256", "1"))
        write(folder / "0002-seal.patch", "fs/hostfs.c", "open\n", "closed\n")
    (tmp_path / "kernel" / "variants").mkdir()
    (tmp_path / "kernel" / "guarantees.toml").write_text(
        '[0001-clock]\nkeeps = "the exact clock"\n'
        '[0002-seal]\nkeeps = "the seal"\nneeded = "it seals the lab"\n'
    )
    monkeypatch.setattr(patching, "PATCHES", tmp_path / "kernel" / "patches")
    monkeypatch.setattr(patching, "VARIANTS", tmp_path / "kernel" / "variants")
    monkeypatch.setattr(patching, "GUARANTEES", tmp_path / "kernel" / "guarantees.toml")
    return tmp_path / "kernel" / "patches"


def write(patch: Path, name: str, before: str, after: str) -> None:
    """A patch of one file, as diff makes it."""
    beside = patch.parent / "diff"
    for side, text in (("a", before), ("b", after)):
        (beside / side / name).parent.mkdir(parents=True, exist_ok=True)
        (beside / side / name).write_text(text)
    command = ["diff", "-u", f"a/{name}", f"b/{name}"]
    differs = subprocess.run(command, cwd=beside, capture_output=True, text=True, check=False)
    patch.write_text(differs.stdout)
    for path in sorted(beside.rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    beside.rmdir()


def how(found: list[patching.Fit]) -> dict[str, tuple[str, str]]:
    return {each.name: (each.how, each.series) for each in found}


def test_a_patch_that_fits_is_applied(files: Path, series: Path) -> None:
    (files / "fs").mkdir()
    (files / "fs" / "hostfs.c").write_text("open\n")
    found = patching.apply(files, "6.12")
    assert how(found) == {"0001-clock": ("fits", "6.12"), "0002-seal": ("fits", "6.12")}
    assert (files / "arch/um/time.c").read_text() == EXACT
    assert patching.told(found) == ["patches of 6.12: 2 of 2 fit"]
    assert patching.lost(found) == []
    patching.check(found, "6.12.3")
    assert sorted(path.name for path in (files / "fs").iterdir()) == ["hostfs.c"]


def test_a_patch_of_another_series_may_fit(files: Path, series: Path) -> None:
    (files / "arch/um/time.c").write_text(trees.CLOCK.replace("two", "two beyond"))
    found = patching.apply(files, "6.12")
    assert how(found)["0001-clock"] == ("fits", "7.2")
    assert (files / "arch/um/time.c").read_text() == EXACT.replace("two", "two beyond")


def test_lines_beside_a_patch_may_be_others(files: Path, series: Path) -> None:
    (files / "arch/um/time.c").write_text(trees.CLOCK.replace("one", "first"))
    found = patching.apply(files, "6.12")
    assert how(found)["0001-clock"] == ("inexact", "6.12")
    assert (files / "arch/um/time.c").read_text() == EXACT.replace("one", "first")
    assert "0001-clock: fits, but for lines beside it that are others" in patching.told(found)


def test_a_patch_that_the_tree_has_is_not_applied_again(files: Path, series: Path) -> None:
    (files / "arch/um/time.c").write_text(EXACT)
    found = patching.apply(files, "6.12")
    assert how(found)["0001-clock"] == ("there", "6.12")
    assert (files / "arch/um/time.c").read_text() == EXACT
    assert patching.lost(found) == ["the seal"]


def test_what_is_gone_is_told_with_its_file(files: Path, series: Path) -> None:
    (files / "arch/um/time.c").write_text("rewritten\n")
    found = patching.apply(files, "6.12")
    assert (files / "arch/um/time.c").read_text() == "rewritten\n"
    told = patching.told(found)
    assert "0001-clock does not fit (arch/um/time.c)" in told
    assert "  so this is gone: the exact clock" in told
    assert "0002-seal does not fit (fs/hostfs.c)" in told
    assert "  no lab is without it: it seals the lab" in told
    with pytest.raises(SandglassError, match=r"Linux 6\.12\.3 can be no lab: 1 patch") as refused:
        patching.check(found, "6.12.3")
    assert "0002-seal.patch does not fit (fs/hostfs.c): it seals the lab" in str(refused.value.hint)


def test_what_only_another_series_has_is_not_missed(files: Path, series: Path) -> None:
    write(series / "7.2" / "0003-later.patch", "net/later.c", "a\n", "b\n")
    assert "0003-later" not in how(patching.apply(files, "6.12"))
    assert how(patching.apply(files, "7.2"))["0003-later"] == ("lost", "7.2")


@pytest.mark.parametrize("kernel", builds.kernels())
def test_each_series_of_ours_is_what_it_is_tried_as(kernel: str) -> None:
    """So that a tree of Debian's own source has every patch of its series."""
    for name, tried in patching.patches(kernel).items():
        own = builds.ROOT / "kernel" / "patches" / kernel / f"{name}.patch"
        assert not own.is_file() or tried[0] == own
