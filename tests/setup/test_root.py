"""The lab's root file system: made of Debian packages, by anybody, always the same."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from sandglass.errors import SandglassError
from sandglass.install import builds, debian, root

FILES = {
    "bin/tool": "in /bin\n",
    "lib/tool.so": "in /lib\n",
    "usr/bin/other": "in /usr/bin\n",
    "usr/share/doc/tool/copyright": "free\n",
    "usr/share/doc/tool/changelog": "long\n",
    "usr/share/man/man1/tool.1": "long, too\n",
}


def package(folder: Path, *more: str) -> Path:
    """A Debian package called tool, of another source, with FILES."""
    for name, text in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    control = folder / "DEBIAN" / "control"
    control.parent.mkdir()
    lines = ["Package: tool", "Version: 2-1", "Source: tools (2-0)", "Architecture: all"]
    lines += ["Maintainer: none", "Description: none", *more]
    control.write_text("\n".join(lines) + "\n")
    deb = folder.with_suffix(".deb")
    command = ["dpkg-deb", "--root-owner-group", "--build", str(folder), str(deb)]
    subprocess.run(command, check=True, capture_output=True)
    return deb


def test_programs_lie_below_usr_and_licences_stay(tmp_path: Path) -> None:
    files = tmp_path / "files"
    root.lay_out(files)
    root.unpack(package(tmp_path / "tool"), files)
    assert (files / "bin").readlink() == Path("usr/bin")
    assert (files / "usr/bin/tool").read_text() == "in /bin\n"
    assert (files / "usr/lib/tool.so").read_text() == "in /lib\n"
    left = sorted(path.name for path in (files / "usr/share").rglob("*") if path.is_file())
    assert left == ["copyright"]


def test_a_package_that_is_cut_short_is_named(tmp_path: Path) -> None:
    deb = package(tmp_path / "tool")
    deb.write_bytes(deb.read_bytes()[:-100])
    root.lay_out(tmp_path / "files")
    with pytest.raises(SandglassError, match=r"tool\.deb cannot be unpacked"):
        root.unpack(deb, tmp_path / "files")


def test_a_package_is_listed_with_its_source(tmp_path: Path) -> None:
    """As who passes the programs on has to name it."""
    found = root.described(package(tmp_path / "tool"))
    assert (found["name"], found["version"], found["source"]) == ("tool", "2-1", "tools 2-0")
    assert len(found["sha256"]) == 64


def test_a_failure_leaves_no_half_root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And a root that is whole is not made again."""
    monkeypatch.setenv("SANDGLASS_CACHE", str(tmp_path / "cache"))
    deb = package(tmp_path / "tool")
    monkeypatch.setattr(debian, "download", lambda *_: [deb])
    with pytest.raises(FileNotFoundError):  # there is no passwd.master in it
        root.make()
    assert builds.built_root() is None
    assert sorted(path.name for path in (tmp_path / "cache").iterdir()) == ["roots.lock"]
    monkeypatch.setattr(root, "finish", lambda *_: {})
    home = root.make()
    assert (home / builds.ROOT_FILES / "usr/bin/tool").exists()
    monkeypatch.setattr(debian, "download", lambda *_: pytest.fail("it is there"))
    assert root.make() == home


@pytest.mark.lab
def test_a_root_says_nothing_of_where_and_when_it_was_made() -> None:
    """Neither in a time nor in a compiled file, nor by whom."""
    files = builds.lab_kernel().root
    times = {path.lstat().st_mtime for path in (files, *files.rglob("*"))}
    assert times == {root.MADE_S}
    compiled = list(files.rglob("*.pyc"))
    assert len(compiled) > 500
    assert not [path for path in compiled if os.fsencode(files) in path.read_bytes()]


@pytest.mark.lab
def test_its_packages_are_those_of_the_list_and_what_they_need() -> None:
    home = builds.built_root()
    assert home
    packages = json.loads((home / builds.ROOT_LIST).read_text())
    names = {each["name"] for each in packages}
    assert {"libc6", *root.wanted((builds.ROOT / builds.ROOT_PACKAGES).read_text())} <= names
    assert all(each["source"] and each["version"] and each["sha256"] for each in packages)
