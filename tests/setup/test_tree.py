"""A kernel's tree of somebody's: what is in it, and what it is called."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from sandglass.errors import UsageError
from sandglass.install import tree
from tests.setup import trees

CUBIC = "net/ipv4/tcp_cubic.c"


@pytest.mark.parametrize(
    ("said", "version", "series"),
    [("6.6.0", "6.6.0", "6.6"), ("6.18.3", "6.18.3", "6.18"), ("7.3.0-rc1", "7.3.0-rc1", "7.3")],
)
def test_its_makefile_says_the_version(
    tmp_path: Path, said: str, version: str, series: str
) -> None:
    found = tree.read(trees.make(tmp_path / "linux", said))
    assert (found.version, found.series) == (version, series)


def test_what_is_older_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"is Linux 6\.1\.192: a lab is of 6\.6 or later"):
        _ = tree.read(trees.make(tmp_path / "linux", "6.1.192")).version


def test_what_is_no_kernel_is_refused(tmp_path: Path) -> None:
    (tmp_path / "Makefile").write_text("all:\n")
    with pytest.raises(UsageError, match="no tree of a kernel"):
        _ = tree.read(tmp_path).version
    with pytest.raises(UsageError, match="is no directory"):
        tree.read(tmp_path / "absent")


def test_a_checkout_and_its_commit_and_a_folder_have_the_same_files(tmp_path: Path) -> None:
    place = trees.repository(tmp_path / "linux")
    checkout, commit = tree.read(place), tree.revision(place, "HEAD")
    folder = tree.read(trees.make(tmp_path / "folder"))
    assert checkout.files == commit.files
    assert checkout.files.keys() - folder.files.keys() == {".gitignore"}
    assert folder.files.items() <= checkout.files.items()
    assert "drivers/gpu/card.c" not in folder.files
    for name in folder.files:
        assert checkout.read(name) == commit.read(name) == folder.read(name)
    assert folder.read("scripts/link") == b"tool.sh"


def test_a_checkout_is_called_by_its_commit_and_what_differs(tmp_path: Path) -> None:
    place = trees.repository(tmp_path / "linux")
    commit = trees.git(place, "rev-parse", "HEAD")[:12]
    assert tree.read(place).label == f"6.12.3-g{commit}"
    (place / CUBIC).write_text("static int beta = 400;\n")
    edited = tree.read(place).label
    assert edited.startswith(f"6.12.3-g{commit}-")
    (place / CUBIC).write_text("static int beta = 300;\n")
    assert tree.read(place).label != edited
    assert tree.revision(place, "HEAD").label == f"6.12.3-g{commit}"
    (place / CUBIC).write_text(trees.CUBIC)
    assert tree.read(place).label == f"6.12.3-g{commit}"


def more(place: Path) -> None:
    (place / "net" / "new.c").write_text("int new;\n")


def fewer(place: Path) -> None:
    (place / CUBIC).unlink()


def executable(place: Path) -> None:
    (place / CUBIC).chmod(0o755)


def staged(place: Path) -> None:
    (place / CUBIC).write_text("int staged;\n")
    trees.git(place, "add", "--all")


@pytest.mark.parametrize("edit", [more, fewer, executable, staged])
def test_any_change_shows(tmp_path: Path, edit: Callable[[Path], None]) -> None:
    place = trees.repository(tmp_path / "linux")
    before = tree.read(place)
    edit(place)
    after = tree.read(place)
    assert after.changed
    assert {after.content, after.label}.isdisjoint({before.content, before.label})


def test_what_git_ignores_is_not_of_a_tree(tmp_path: Path) -> None:
    place = trees.repository(tmp_path / "linux")
    (place / "net" / "new.o").write_text("built\n")
    assert tree.read(place).label == tree.revision(place, "HEAD").label


def test_what_a_build_left_is_not_of_a_folder(tmp_path: Path) -> None:
    before = tree.read(trees.make(tmp_path / "linux")).label
    for name in ("net/new.o", "include/generated/a.h", ".config", "net/.new.o.cmd", "vmlinux"):
        (tmp_path / "linux" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "linux" / name).write_text("built\n")
    assert tree.read(tmp_path / "linux").label == before


def test_a_folders_files_are_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place, seen = trees.make(tmp_path / "linux"), tree.Seen()
    before = tree.read(place, seen)
    read: list[Path] = []

    def content(path: Path) -> bytes:
        read.append(path)
        return path.read_bytes()

    monkeypatch.setattr(tree, "_content", content)
    assert tree.read(place, seen).files == before.files
    assert read == []
    (place / CUBIC).write_text("int other;\n")
    assert tree.read(place, seen).content != before.content
    assert read == [place / CUBIC]


def test_reading_changes_nothing(tmp_path: Path) -> None:
    place = trees.repository(tmp_path / "linux")
    (place / CUBIC).write_text("int other;\n")
    os.utime(place / "Makefile", (1e9, 1e9))  # which git would note in its index
    before = trees.everything(place)
    tree.read(place)
    tree.revision(place, "HEAD").read(CUBIC)
    assert trees.everything(place) == before


def test_a_commit_that_is_not_there_is_named(tmp_path: Path) -> None:
    place = trees.repository(tmp_path / "linux")
    with pytest.raises(UsageError, match=r"has no commit v9\.9"):
        tree.revision(place, "v9.9")
    with pytest.raises(UsageError, match="is no git checkout"):
        tree.revision(trees.make(tmp_path / "folder"), "HEAD")


def test_a_variable_of_a_hook_leads_to_no_other_repository(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = trees.repository(tmp_path / "linux")
    other = trees.repository(tmp_path / "other")
    trees.commit(other, "further")
    monkeypatch.setenv("GIT_DIR", str(other / ".git"))
    assert tree.read(place).commit == tree.revision(place, "HEAD").commit
    monkeypatch.delenv("GIT_DIR")
    assert tree.read(place).commit == trees.git(place, "rev-parse", "HEAD")
