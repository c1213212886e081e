"""Archives that come from elsewhere, of which nothing comes to lie outside of a new folder.

They are tar archives as Sandglass writes them: files, directories and symbolic links, with PAX
headers where a name is long (POSIX.1-2017, pax, "pax Interchange Format"). A header that asks for
anything else is refused, so that none can ask for much memory or for what only root may make.
Owners and the bits for setuid, setgid and sticky are not kept.

A file is made where there is none, in a directory that was made before it and is opened without
following a link. So a link may lead anywhere, as those of a root file system do, and nothing is
written, made or changed through it.
"""

import contextlib
import errno
import hashlib
import lzma
import os
import tarfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import BinaryIO, Final, Literal, Protocol

from sandglass.errors import SandglassError

BLOCK = tarfile.BLOCKSIZE
CHUNK: Final = 1 << 20
MOST_MEMBERS = 100_000
"""A lab has 6,500."""
MOST_HEADER: Final = 8192
"""Bytes of a PAX header, which has a name and what a link leads to."""
MOST_DEPTH = 40
"""Directories in each other; a lab has 12."""
XZ_MEMORY: Final = 1 << 26
"""Bytes for xz to work in; what Sandglass writes takes 3 MB."""
LAST_S: Final = 1 << 33
"""Times are before this, in seconds since 1970: in the year 2242."""
KINDS: dict[bytes, Literal["file", "directory", "link"]] = {
    tarfile.REGTYPE: "file",
    tarfile.AREGTYPE: "file",
    tarfile.DIRTYPE: "directory",
    tarfile.SYMTYPE: "link",
}
FORBIDDEN = {"", ".", ".."}
"""As parts of a path."""
NO_NAME = {errno.ENAMETOOLONG, errno.EILSEQ, errno.EINVAL}
IN_ORDER = os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class ArchiveError(SandglassError):
    """An archive that is damaged, or asks for what no archive of ours does."""


class Stream(Protocol):
    """What is read once, from its beginning to its end."""

    def read(self, size: int, /) -> bytes:
        """The next bytes, as many as asked for unless it ends."""


@dataclass(frozen=True)
class Member:
    """A file, directory or link of an archive."""

    parts: tuple[str, ...]
    """Of its path."""
    kind: Literal["file", "directory", "link"]
    mode: int
    mtime_s: int
    size: int
    """Bytes of a file."""
    target: str
    """What a link leads to."""

    def __str__(self) -> str:
        return repr("/".join(self.parts))  # whatever it holds goes to a terminal


class Xz:
    """What a file compressed by xz holds. Reading raises ArchiveError after `most` bytes of it."""

    def __init__(self, file: Stream, most: int) -> None:
        self._file = file
        self._left = self._most = most
        self._xz = lzma.LZMADecompressor(lzma.FORMAT_XZ, XZ_MEMORY)

    def read(self, size: int, /) -> bytes:
        """The next bytes; raises ArchiveError when they are not xz's."""
        found = bytearray()
        while len(found) < size and not self._xz.eof:
            fed = self._file.read(CHUNK) if self._xz.needs_input else b""
            if self._xz.needs_input and not fed:
                raise ArchiveError("it ends early")
            try:
                found += self._xz.decompress(fed, size - len(found))
            except lzma.LZMAError as error:
                raise ArchiveError(f"it is not as xz wrote it: {error}") from None
        self._left -= len(found)
        if self._left < 0:
            raise ArchiveError(f"it grows to more than {self._most / 1e6:.0f} MB")
        return bytes(found)


def checksum(file: BinaryIO) -> str:
    """SHA-256 of what follows in an open file."""
    digest = hashlib.sha256()
    while block := file.read(CHUNK):
        digest.update(block)
    return digest.hexdigest()


def unpack(
    stream: Stream,
    folder: str | os.PathLike[str],
    belongs: Callable[[Member], bool],
    *,
    exact: bool,
) -> None:
    """Lay the members of an archive below an empty folder, each of which has to belong there.

    With `exact` they get the archive's times and modes, without what lets others write; without it
    the modes of new files. A directory that the archive does not name is made.

    Raises ArchiveError, and OSError naming a member when there is no room for it. The folder then
    has some of the members.
    """
    directories: dict[tuple[str, ...], Member] = {}
    base = os.open(folder, os.O_RDONLY | IN_ORDER)
    try:
        for number, member in enumerate(members(stream), 1):
            new = [member.parts[:end] for end in range(1, len(member.parts))]
            for parts in [parts for parts in new if parts not in directories]:
                directories[parts] = Member(parts, "directory", 0o755, member.mtime_s, 0, "")
                _lay(directories[parts], stream, base, exact)
            if number + len(directories) > MOST_MEMBERS:
                raise ArchiveError(f"it has more than {MOST_MEMBERS} files")
            if not belongs(member):
                raise ArchiveError(f"{member} does not belong into it")
            _lay(member, stream, base, exact)
            if member.kind == "directory":
                directories[member.parts] = member
        if exact:
            for parts, member in reversed(directories.items()):
                with _opened(base, parts) as place:
                    _finish(place, member)  # what came into it has changed its time
    finally:
        os.close(base)


def files(
    stream: Stream, wanted: Callable[[Member], bool], most: int
) -> dict[tuple[str, ...], bytes]:
    """The content of those files of an archive that are wanted, by the parts of their paths.

    Raises ArchiveError, also where they have more than `most` bytes together or one is there twice.
    """
    found: dict[tuple[str, ...], bytes] = {}
    left = most
    for member in members(stream):
        if member.kind != "file" or not wanted(member):
            for _ in _content(stream, member.size):
                pass
            continue
        left -= member.size
        if left < 0:
            raise ArchiveError(f"{member} makes it more than {most / 1e6:.0f} MB")
        if member.parts in found:
            raise ArchiveError(f"{member} is in it twice")
        found[member.parts] = b"".join(_content(stream, member.size))
    return found


def _lay(member: Member, stream: Stream, base: int, exact: bool) -> None:
    """Make one member; raises ArchiveError when there is something at its place."""
    name = _bytes(member.parts[-1])
    try:
        with _opened(base, member.parts[:-1]) as place:
            if member.kind == "directory":
                os.mkdir(name, 0o755, dir_fd=place)
            elif member.kind == "link":
                os.symlink(_bytes(member.target), name, dir_fd=place)
                if exact:
                    times = (member.mtime_s, member.mtime_s)
                    os.utime(name, times, dir_fd=place, follow_symlinks=False)
            else:
                flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
                file = os.open(name, flags, 0o666, dir_fd=place)
                with open(file, "wb") as written:  # noqa: PTH123 a descriptor
                    for piece in _content(stream, member.size):
                        written.write(piece)
                    written.flush()
                    if exact:
                        _finish(file, member)
    except FileExistsError:
        raise ArchiveError(f"{member} is in it twice, or in two spellings") from None
    except OSError as error:
        if error.errno in NO_NAME:
            raise ArchiveError(f"{member} is no name for a file: {error.strerror}") from None
        raise OSError(error.errno, error.strerror, str(member)) from None


def _finish(file: int, member: Member) -> None:
    """Give an open file or directory its mode and time."""
    least = 0o700 if member.kind == "directory" else 0o400  # so that it can be removed again
    os.fchmod(file, member.mode & 0o755 | least)
    os.utime(file, (member.mtime_s, member.mtime_s))


@contextlib.contextmanager
def _opened(base: int, parts: tuple[str, ...]) -> Iterator[int]:
    """A directory below an open one, come to by no link."""
    place = os.dup(base)
    try:
        for part in parts:
            inner = os.open(_bytes(part), os.O_RDONLY | IN_ORDER, dir_fd=place)
            os.close(place)
            place = inner
        yield place
    finally:
        os.close(place)


def _bytes(text: str) -> bytes:
    """A name as it lies on the disk, whatever the user's language is."""
    return text.encode("utf-8", "surrogateescape")


def members(stream: Stream) -> Iterator[Member]:
    """What a tar archive holds; of each file the content is to be read before the next.

    Raises ArchiveError when it is damaged or holds anything but files, directories and links.
    """
    further: dict[str, str] = {}
    while (block := _exactly(stream, BLOCK)) != bytes(BLOCK):
        try:
            info = tarfile.TarInfo.frombuf(block, "utf-8", "surrogateescape")
        except tarfile.HeaderError as error:
            raise ArchiveError(f"it is not as tar wrote it: {error}") from None
        if info.type == tarfile.XHDTYPE and not further and 0 < info.size <= MOST_HEADER:
            further = _records(b"".join(_content(stream, info.size)))
            continue
        name, target = further.get("path", info.name), further.get("linkpath", info.linkname)
        further = {}
        if info.type not in KINDS:
            raise ArchiveError(f"{name!r} is no file, directory or link")
        kind = KINDS[info.type]
        parts = tuple(name.removesuffix("/").split("/"))
        if len(parts) > MOST_DEPTH or not FORBIDDEN.isdisjoint(parts) or "\0" in name + target:
            raise ArchiveError(f"{name[:200]!r} is no name in an archive")
        if info.size < 0 or (info.size and kind != "file") or not 0 <= info.mtime < LAST_S:
            raise ArchiveError(f"{name!r} has an impossible size or time")
        yield Member(parts, kind, info.mode, int(info.mtime), info.size, target)


def _records(content: bytes) -> dict[str, str]:
    """Names of a PAX header, whose records are 'LENGTH KEY=VALUE' and a line's end each."""
    found = {}
    while content:
        length, _, _ = content[:6].partition(b" ")
        size = int(length) if length.isdigit() else 0
        key, equal, value = content[len(length) + 1 : size].partition(b"=")
        if key not in (b"path", b"linkpath") or not equal or content[size - 1 : size] != b"\n":
            raise ArchiveError("it has a header that no archive of ours has")
        found[key.decode()] = value[:-1].decode("utf-8", "surrogateescape")
        content = content[size:]
    return found


def _content(stream: Stream, size: int) -> Iterator[bytes]:
    """The content of a file in pieces, read with what fills its last block."""
    for start in range(0, size, CHUNK):
        yield _exactly(stream, min(CHUNK, size - start))
    _exactly(stream, -size % BLOCK)


def _exactly(stream: Stream, size: int) -> bytes:
    """So many bytes; raises ArchiveError when there are fewer."""
    found = stream.read(size) if size else b""
    if len(found) < size:
        raise ArchiveError("it ends early")
    return found
