"""Submissions of all forms: what of them is taken in, and what is refused."""

import io
import os
import stat
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from sandglass.grading import sheet, submission
from sandglass.grading.sheet import Sheet
from sandglass.grading.submission import SubmissionError

FILES = {"router.py": b"print()\n", "kmods/sch_x/Kbuild": b"obj-m := sch_x.o\n"}


@pytest.fixture
def wanted(tmp_path: Path) -> Sheet:
    """A grade file that asks for router.py."""
    path = tmp_path / "GRADE.yaml"
    path.write_text(
        "title: t\nchecks: [{id: a, title: t, points: 1, kind: output, command: router.py 3, "
        "status: 0}]\n"
    )
    return sheet.read(path)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where a submission is laid."""
    (tmp_path / "laid").mkdir()
    return tmp_path / "laid"


def plain(place: Path) -> Path:
    for name, content in FILES.items():
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_bytes(content)
    return place


def zipped(path: Path, files: dict[str, bytes], **kind: int) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, content in files.items():
            info = zipfile.ZipInfo(name)
            info.external_attr = kind.get("mode", stat.S_IFREG | 0o644) << 16
            packed.writestr(info, content, zipfile.ZIP_DEFLATED)
    return path


def tarred(path: Path, files: dict[str, bytes], kind: bytes = tarfile.REGTYPE) -> Path:
    with tarfile.open(path, "w:gz", format=tarfile.GNU_FORMAT) as packed:
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            info.type, info.size, info.linkname = kind, len(content), "/etc/passwd"
            packed.addfile(info, io.BytesIO(content))
    return path


def there(place: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(place)): path.read_bytes()
        for path in place.rglob("*")
        if path.is_file()
    }


FORMS: dict[str, Callable[[Path], Path]] = {
    "directory": lambda place: plain(place / "own"),
    "zip": lambda place: zipped(place / "own.zip", FILES),
    "tar": lambda place: tarred(place / "own.tar.gz", FILES),
    "tar of .": lambda place: tarred(place / "own.tgz", {f"./{n}": c for n, c in FILES.items()}),
    "zip of a folder": lambda place: zipped(
        place / "own.zip", {f"my work/{n}": c for n, c in FILES.items()}
    ),
    "zip of a machine": lambda place: zipped(
        place / "own.zip", {**FILES, "__MACOSX/._x": b"x", ".DS_Store": b"x", ".git/config": b"x"}
    ),
}


@pytest.mark.parametrize("form", FORMS)
def test_it_is_laid_as_plain_files(form: str, tmp_path: Path, folder: Path, wanted: Sheet) -> None:
    place = submission.take(FORMS[form](tmp_path), folder, wanted)
    assert there(place) == FILES
    assert {path.stat().st_mtime for path in place.rglob("*.py")} == {1_700_000_000}


def test_a_file_is_a_submission(tmp_path: Path, folder: Path, wanted: Sheet) -> None:
    (tmp_path / "router.py").write_bytes(b"#!/usr/bin/python3\n")
    place = submission.take(tmp_path / "router.py", folder, wanted)
    assert os.access(place / "router.py", os.X_OK)


def linked(place: Path) -> Path:
    plain(place / "own")
    (place / "own" / "other.py").symlink_to("/etc/passwd")
    return place / "own"


def empty(place: Path) -> Path:
    (place / "own").mkdir()
    return place / "own"


def broken(place: Path) -> Path:
    (place / "own.zip").write_bytes(b"PK no more")
    return place / "own.zip"


HOSTILE: dict[str, tuple[Callable[[Path], Path], str]] = {
    "a link": (linked, "'other.py' is no file"),
    "nothing": (empty, "is empty"),
    "no zip": (broken, "is no ZIP"),
    "a zip with a link": (
        lambda place: zipped(place / "own.zip", {"x": b"/etc/passwd"}, mode=stat.S_IFLNK | 0o777),
        "'x' is no file",
    ),
    "a tar with a link": (
        lambda place: tarred(place / "own.tgz", {"x": b""}, tarfile.SYMTYPE),
        "'x' is no file",
    ),
    "a tar with a hard link": (
        lambda place: tarred(place / "own.tgz", {"x": b""}, tarfile.LNKTYPE),
        "'x' is no file",
    ),
    "a tar with a device": (
        lambda place: tarred(place / "own.tgz", {"x": b""}, tarfile.CHRTYPE),
        "'x' is no file",
    ),
    "an absolute name": (
        lambda place: zipped(place / "own.zip", {"/tmp/x": b"x"}),
        "is no name in an archive",
    ),
    "a bomb": (
        lambda place: zipped(place / "own.zip", {f"{n}": bytes(30_000_000) for n in range(3)}),
        "grows to more than",
    ),
    "a large file": (
        lambda place: zipped(place / "own.zip", {"x": bytes(30_000_000)}),
        "more than 1000 files or 20 MB",
    ),
    "many files": (
        lambda place: zipped(place / "own.zip", {f"{n}": b"x" for n in range(1500)}),
        "more than 1000 files or 20 MB",
    ),
    "two of a name": (
        lambda place: zipped(place / "own.zip", {"x/y": b"x", "x": b"y"}),
        "twice",
    ),
}


@pytest.mark.parametrize("form", HOSTILE)
def test_it_is_refused(form: str, tmp_path: Path, folder: Path, wanted: Sheet) -> None:
    make, said = HOSTILE[form]
    made = make(tmp_path)
    before = there(tmp_path)
    with pytest.raises(SubmissionError, match=said):
        submission.take(made, folder, wanted)
    after = {name: text for name, text in there(tmp_path).items() if not name.startswith("laid/")}
    assert after == before


def test_a_name_that_leads_up_comes_to_lie_nowhere(
    tmp_path: Path, folder: Path, wanted: Sheet
) -> None:
    made = zipped(tmp_path / "own.zip", {"../out.py": b"x", "router.py": b"x"})
    submission.take(made, folder, wanted)
    assert not (tmp_path / "out.py").exists()
    assert there(folder) == {"router.py": b"x"}
