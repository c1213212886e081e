"""The submission: what a student hands in, laid into a folder of ours as plain files.

It comes as a directory, a file, or an archive. Whatever it is, it becomes a tar archive as the
unpacker of install/archive.py wants them, which lays it out: nothing comes to lie elsewhere, and
nothing is a link. Times and modes are ours, so that they tell nothing of where it was graded.
"""

import io
import shlex
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any

from sandglass.errors import SandglassError
from sandglass.grading.sheet import AnyCheck, Measured, Network, OutputCheck, QdiscCheck, Sheet
from sandglass.install import archive
from sandglass.lab.lab import BOOT_TIME_NS

MOST_BYTES = 20_000_000
MOST_FILES = 1000
MOST_READ = 4 * MOST_BYTES
"""Bytes of an archive, unpacked: its headers and what is left out count."""
LEFT_OUT = ("__MACOSX", "__pycache__")
"""Besides what begins with a dot: what machines put there, and no student."""
LOST_NAME = 255
Entry = tuple[str, bytes]
"""A name and a content."""


class SubmissionError(SandglassError):
    """A submission that cannot be taken in, which is its author's fault: no points."""


def take(path: Path, folder: Path, sheet: Sheet) -> Path:
    """Lay a submission into an empty folder; returns where its files begin.

    That is the folder, or the only one in it where a student has packed that. Raises
    SubmissionError for what is no submission, OSError when it cannot be read.
    """
    laid = io.BytesIO()
    total = 0
    with tarfile.open(fileobj=laid, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for number, (name, content) in enumerate(sorted(_entries(path))):
            total += len(content)
            if number >= MOST_FILES or total > MOST_BYTES:
                most = f"{MOST_FILES} files or {MOST_BYTES // 10**6} MB"
                raise SubmissionError(f"the submission has more than {most}")
            info = tarfile.TarInfo(name)
            info.size, info.mtime = len(content), BOOT_TIME_NS // 10**9
            info.mode = 0o755 if content.startswith(b"#!") else 0o644
            tar.addfile(info, io.BytesIO(content))
        if not tar.getmembers():
            raise SubmissionError("the submission is empty")
    laid.seek(0)
    try:
        archive.unpack(laid, folder, lambda member: member.kind != "link", exact=True)
    except archive.ArchiveError as error:
        raise SubmissionError(f"the submission: {error.message}") from None
    return _top(folder, sheet)


def _entries(path: Path) -> Iterator[Entry]:
    """The files of a submission, by their names below it."""
    name = path.name.lower()
    if path.is_dir():
        found = _of_directory(path)
    elif name.endswith(".zip"):
        found = _of_zip(path)
    elif name.endswith((".tar", ".tar.gz", ".tgz", ".tar.xz", ".tar.bz2")):
        found = _of_tar(path)
    else:
        found = iter([(path.name, _content(path, MOST_READ))])
    for entry, content in found:
        parts = PurePosixPath(entry).parts
        if not any(each.startswith(".") or each in LEFT_OUT for each in parts):
            yield "/".join(parts), content


def _of_directory(folder: Path) -> Iterator[Entry]:
    waiting, left = [folder], MOST_READ
    while waiting:
        for path in sorted(waiting.pop().iterdir()):
            if path.name.startswith(".") or path.name in LEFT_OUT:
                continue
            kind, entry = path.lstat().st_mode, str(path.relative_to(folder))
            if stat.S_ISDIR(kind):
                waiting.append(path)
            elif stat.S_ISREG(kind):
                content = _content(path, left)
                left -= len(content)
                yield entry, content
            else:
                raise SubmissionError(f"the submission: {entry!r} is no file: hand in plain files")


def _content(path: Path, most: int) -> bytes:
    with path.open("rb") as file:
        content = file.read(most + 1)
    _less(most, content)
    return content


def _of_zip(path: Path) -> Iterator[Entry]:
    try:
        with zipfile.ZipFile(path) as packed:
            left = MOST_READ
            for info in packed.infolist()[: 2 * MOST_FILES]:
                kind = stat.S_IFMT(info.external_attr >> 16)
                if info.is_dir():
                    continue
                if kind not in (0, stat.S_IFREG):
                    said = f"the submission: {_shown(info.filename)} is no file: pack plain files"
                    raise SubmissionError(said)
                with packed.open(info) as file:
                    content = file.read(left + 1)
                left = _less(left, content)
                yield info.filename, content
    except (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, NotImplementedError) as error:
        raise SubmissionError(f"the submission is no ZIP that can be read: {error}") from None


class _Bounded(io.RawIOBase):
    """A stream that ends with SubmissionError after so many bytes."""

    def __init__(self, stream: Any, most: int) -> None:
        self._stream, self._left = stream, most

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1, /) -> bytes:
        found: bytes = self._stream.read(self._left + 1 if size < 0 else min(size, self._left + 1))
        self._left = _less(self._left, found)
        return found


def _of_tar(path: Path) -> Iterator[Entry]:
    import bz2  # noqa: PLC0415 for few
    import gzip  # noqa: PLC0415
    import lzma  # noqa: PLC0415

    kinds: dict[str, Any] = {".gz": gzip.open, ".tgz": gzip.open, ".xz": lzma.open}
    kinds[".bz2"] = bz2.open
    opened: Any = kinds.get(path.suffix.lower(), open)(path, "rb")
    try:
        with (
            opened as stream,
            tarfile.open(fileobj=_Bounded(stream, MOST_READ), mode="r|") as tar,
        ):
            for info in tar:
                if info.isdir():
                    continue
                if not info.isreg():
                    said = f"the submission: {_shown(info.name)} is no file: pack plain files"
                    raise SubmissionError(said)
                file = tar.extractfile(info)
                yield info.name, file.read(MOST_READ) if file else b""
    except (tarfile.TarError, OSError, EOFError, zlib.error, lzma.LZMAError, ValueError) as error:
        raise SubmissionError(f"the submission is no archive that can be read: {error}") from None


def _less(left: int, content: bytes) -> int:
    if len(content) > left:
        raise SubmissionError(f"the submission grows to more than {MOST_READ // 10**6} MB")
    return left - len(content)


def _shown(name: str) -> str:
    return repr(name[:LOST_NAME])


def _top(folder: Path, sheet: Sheet) -> Path:
    """Where the files begin that the checks ask for."""
    inside = [*folder.iterdir()]
    names = [name for check in sheet.checks for name in _names(check)]
    places = [folder, *inside] if len(inside) == 1 and inside[0].is_dir() else [folder]
    for place in places:
        if any((place / name).exists() for name in names):
            return place
    return folder


def _names(check: AnyCheck) -> Iterator[str]:
    """What a check asks for of the submission, and other words."""
    if isinstance(check, Measured):
        yield from filter(None, (check.experiment, check.module))
    elif isinstance(check, QdiscCheck):
        yield check.module
    elif isinstance(check, Network):
        commands = [check.network or ""]
        if isinstance(check, OutputCheck):
            commands.append(check.command)
        for command in commands:
            yield from (word for word in _words(command) if not word.startswith(("/", "-", ".")))


def _words(command: str) -> list[str]:
    try:
        return shlex.split(command)
    except ValueError:  # the check's own reader tells
        return []
