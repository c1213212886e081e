"""The copy of a tree in the cache: only what changed is written, and nothing in the tree."""

import os
import time
from pathlib import Path

import pytest

from sandglass.install import builds, patching, tree, tree_copy
from tests.setup import trees
from tests.setup.test_patching import EXACT, series, write

__all__ = ["series"]

CUBIC = "net/ipv4/tcp_cubic.c"
DRIVERS = {"drivers/Makefile": lambda text: text.replace("gpu/ ", "")}


@pytest.fixture
def cache(tmp_path: Path, series: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A place for copies, and one patch, of the clock."""
    (series / "6.12" / "0002-seal.patch").unlink()
    (series / "7.2" / "0002-seal.patch").unlink()
    monkeypatch.setattr(builds, "ROOT", tmp_path)
    monkeypatch.setenv("SANDGLASS_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def updated(source: tree.Tree, scratch: Path, tools: str = "cc") -> dict[str, int]:
    """Bring a tree's copy to what the tree is; returns when each file of it was written."""
    scratch.mkdir(exist_ok=True)
    copy = tree_copy.Copy(tree_copy.place(source.place, debug=False), tools)
    copy.update(source, scratch, DRIVERS)
    return {
        str(path.relative_to(copy.tree)): path.lstat().st_mtime_ns
        for path in copy.tree.rglob("*")
        if path.is_symlink() or not path.is_dir()
    }


def changed(before: dict[str, int], after: dict[str, int]) -> set[str]:
    return {name for name in before.keys() | after.keys() if before.get(name) != after.get(name)}


def copied(place: Path, name: str) -> str:
    return (tree_copy.place(place, debug=False) / "tree" / name).read_text()


def test_a_copy_is_the_tree_with_our_patches(tmp_path: Path, cache: Path) -> None:
    place = trees.repository(tmp_path / "linux")
    before = trees.everything(place)
    names = updated(tree.read(place), tmp_path / "scratch")
    assert trees.everything(place) == before
    assert names.keys() == tree.read(place).files.keys()
    assert copied(place, "arch/um/time.c") == EXACT
    assert copied(place, "drivers/Makefile") == "obj-y += base/\n"
    assert copied(place, CUBIC) == trees.CUBIC
    home = tree_copy.place(place, debug=False) / "tree"
    assert (home / "scripts" / "tool.sh").stat().st_mode & 0o111
    assert (home / "scripts" / "link").readlink() == Path("tool.sh")


def test_an_edit_writes_one_file(tmp_path: Path, cache: Path) -> None:
    place, scratch = trees.repository(tmp_path / "linux"), tmp_path / "scratch"
    before = updated(tree.read(place), scratch)
    assert updated(tree.read(place), scratch) == before
    (place / CUBIC).write_text("static int beta = 400;\n")
    after = updated(tree.read(place), scratch)
    assert changed(before, after) == {CUBIC}
    assert after[CUBIC] > before[CUBIC]
    assert copied(place, CUBIC) == "static int beta = 400;\n"


def test_an_edit_of_a_patched_file_is_patched(tmp_path: Path, cache: Path) -> None:
    place, scratch = trees.repository(tmp_path / "linux"), tmp_path / "scratch"
    before = updated(tree.read(place), scratch)
    (place / "arch/um/time.c").write_text(trees.CLOCK + "six\n")
    assert changed(before, updated(tree.read(place), scratch)) == {"arch/um/time.c"}
    assert copied(place, "arch/um/time.c") == EXACT + "six\n"


def test_a_file_that_is_touched_is_not_written(tmp_path: Path, cache: Path) -> None:
    """As a checkout of another commit and back does it."""
    place, scratch = trees.make(tmp_path / "linux"), tmp_path / "scratch"
    before = updated(tree.read(place), scratch)
    for path in place.rglob("*.c"):
        path.touch()
    assert updated(tree.read(place), scratch) == before


def test_a_file_that_is_put_in_with_an_old_time_is_new_to_make(tmp_path: Path, cache: Path) -> None:
    place, scratch = trees.make(tmp_path / "linux"), tmp_path / "scratch"
    updated(tree.read(place), scratch)
    began = time.time_ns() - 10**9
    old = place / "old"
    old.write_text("int old;\n")
    os.utime(old, (1e9, 1e9))
    old.rename(place / CUBIC)
    assert updated(tree.read(place), scratch)[CUBIC] > began


def test_what_is_gone_goes_and_what_comes_comes(tmp_path: Path, cache: Path) -> None:
    place, scratch = trees.repository(tmp_path / "linux"), tmp_path / "scratch"
    before = updated(tree.read(place), scratch)
    (place / CUBIC).unlink()
    (place / "scripts" / "link").unlink()
    (place / "scripts" / "link").write_text("a file now\n")
    (place / "net" / "new").symlink_to("ipv4")
    after = updated(tree.read(place), scratch)
    assert changed(before, after) == {CUBIC, "scripts/link", "net/new"}
    assert CUBIC not in after
    assert copied(place, "scripts/link") == "a file now\n"
    assert copied(place, "scripts/tool.sh") == "#!/bin/sh\n"


def test_a_revision_and_the_checkout_are_built_in_one_copy(tmp_path: Path, cache: Path) -> None:
    place, scratch = trees.repository(tmp_path / "linux"), tmp_path / "scratch"
    (place / CUBIC).write_text("static int beta = 400;\n")
    trees.commit(place, "beta")
    now = updated(tree.read(place), scratch)
    before = updated(tree.revision(place, "HEAD~"), scratch)
    assert changed(now, before) == {CUBIC}
    assert copied(place, CUBIC) == trees.CUBIC
    assert (place / CUBIC).read_text() == "static int beta = 400;\n"


def test_another_patch_is_applied_to_what_is_there(
    tmp_path: Path, cache: Path, series: Path
) -> None:
    place, scratch = trees.repository(tmp_path / "linux"), tmp_path / "scratch"
    before = updated(tree.read(place), scratch)
    write(series / "6.12" / "0003-beta.patch", CUBIC, trees.CUBIC, "static int beta = 1;\n")
    assert changed(before, updated(tree.read(place), scratch)) == {CUBIC}
    assert copied(place, CUBIC) == "static int beta = 1;\n"
    (series / "6.12" / "0003-beta.patch").unlink()
    assert changed(before, updated(tree.read(place), scratch)) == {CUBIC}
    assert copied(place, CUBIC) == trees.CUBIC


def test_what_a_killed_build_left_is_not_believed(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It had written a file of another revision, to which the tree has gone back."""
    place, scratch = trees.repository(tmp_path / "linux"), tmp_path / "scratch"
    updated(tree.read(place), scratch)
    (place / CUBIC).write_text("static int beta = 400;\n")
    (place / "arch/um/time.c").write_text(trees.CLOCK + "six\n")

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(patching, "apply", killed)
        with pytest.raises(KeyboardInterrupt):
            updated(tree.read(place), scratch)
    assert copied(place, CUBIC) == "static int beta = 400;\n"
    trees.git(place, "checkout", "--quiet", ".")
    (scratch / "patched").rename(tmp_path / "left")
    updated(tree.read(place), scratch)
    assert copied(place, CUBIC) == trees.CUBIC
    assert copied(place, "arch/um/time.c") == EXACT


def test_a_kconfig_asks_for_another_configuration(tmp_path: Path, cache: Path) -> None:
    place, scratch = trees.repository(tmp_path / "linux"), tmp_path / "scratch"
    (place / "net" / "Kconfig").write_text("config NET\n")
    updated(tree.read(place), scratch)
    configured = tree_copy.place(place, debug=False) / "tree" / tree_copy.CONFIGURED
    configured.touch()
    (place / CUBIC).write_text("static int beta = 400;\n")
    updated(tree.read(place), scratch)
    assert configured.exists()
    (place / "net" / "Kconfig").write_text("config NET\n\tbool\n")
    updated(tree.read(place), scratch)
    assert not configured.exists()


def test_other_tools_want_another_copy(tmp_path: Path, cache: Path) -> None:
    place, scratch = trees.repository(tmp_path / "linux"), tmp_path / "scratch"
    updated(tree.read(place), scratch)
    home = tree_copy.place(place, debug=False) / "tree"
    (home / "net" / "built.o").touch()
    updated(tree.read(place), scratch)
    assert (home / "net" / "built.o").exists()
    updated(tree.read(place), scratch, "cc 2")
    assert not (home / "net" / "built.o").exists()


def test_what_became_of_patches_is_known_without_trying_again(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place, scratch = trees.repository(tmp_path / "linux"), tmp_path / "scratch"
    (place / "arch/um/time.c").write_text("rewritten\n")
    scratch.mkdir()
    home = tree_copy.place(place, debug=False)
    first = tree_copy.Copy(home, "cc").update(tree.read(place), scratch, DRIVERS)
    monkeypatch.setattr(patching, "apply", None)
    (place / CUBIC).write_text("static int beta = 400;\n")
    second = tree_copy.Copy(home, "cc").update(tree.read(place), scratch, DRIVERS)
    assert first == second
    assert [each.how for each in second] == ["lost"]
