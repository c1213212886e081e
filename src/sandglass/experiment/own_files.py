"""Files of the user's own that flows need, such as a program, beside the experiment's file.

They are found, looked at and summed when the experiment is read, and travel with it from then on.
A path from the experiment's file is their name everywhere. Where an experiment is kept elsewhere it
names them as rsync --relative does: /home/me/./client is ./client beside a file in /home/me.
"""

import functools
import hashlib
import io
import os
import posixpath
import stat
import tarfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, PlainSerializer, PlainValidator, ValidationInfo

from sandglass.agent.plan import OwnFiles
from sandglass.errors import UsageError, nearest
from sandglass.experiment import units
from sandglass.experiment.problems import PartError
from sandglass.experiment.trace import BESIDE
from sandglass.experiment.values import Word, word
from sandglass.install import elf, stacks

STACK = "quic:"
"""Begins the path of a file of a QUIC stack: quic:aioquic/bulk.py is that stack's bulk.py, and lies
in aioquic/ beside the experiment's file."""
MARK = "/./"
"""In an absolute path: what is behind it is the path from the experiment's file."""
ABOVE = "experiment"
"""What the directory of the experiment's file is called in the lab, where a path leads above it."""
MOST_ABOVE = 8
MOST_BYTES = 512 << 20
MOST_FILES = 20_000
LEFT_OUT = ("__pycache__", ".git")
"""Directories that no program needs, and that change by themselves."""
PIECE = 1 << 20
SCRIPT = b"#!"
SHOWN = 200
"""Characters of a path that a message shows."""


@dataclass(frozen=True)
class File:
    """A file, or with `target` a symbolic link."""

    name: str
    """Its path from the experiment's file, as short as can be."""
    path: Path
    sha256: str = ""
    executable: bool = False
    size: int = 0
    target: str | None = None
    """What a link leads to. An absolute one is the lab's."""


@dataclass(frozen=True)
class Own:
    """What an experiment names by a path from its file: a file, or a directory with all in it."""

    written: str
    """As the experiment has it."""
    name: str
    """The path from the experiment's file, as short as can be."""
    is_directory: bool
    files: tuple[File, ...]

    @property
    def word(self) -> str:
        """As a program is told of it."""
        return self.name if self.name.startswith("../") else f"./{self.name}"


def is_own(word: str) -> bool:
    """Whether a word of a command line names such a file."""
    return word.startswith(("./", "../", STACK)) or (word.startswith("/") and MARK in word)


def relative(word: str) -> str:
    """A word of an experiment as one would have it that lies where its files do."""
    if word.startswith(STACK):
        return f"./{word.removeprefix(STACK)}"
    return f"./{word.partition(MARK)[2]}" if word.startswith("/") and MARK in word else word


def rooted(word: str, home: Path) -> str:
    """A word of an experiment in `home` as one has it that lies elsewhere."""
    if word.startswith("/"):
        return word
    return f"{home.resolve()}{MARK}{word.removeprefix('./')}"


@functools.lru_cache(maxsize=MOST_FILES)
def _sum(path: Path, _size: int, _changed_ns: int, _inode: int) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while piece := file.read(PIECE):
            digest.update(piece)
    return digest.hexdigest()


class _Search:
    """Finds all that is to be brought for one name. Raises ValueError that says what is wrong."""

    def __init__(self, written: str, beside: Path) -> None:
        self.written = written
        if written.startswith(STACK):
            stack = written.removeprefix(STACK)
            written = f"{stacks.made(stack.partition('/')[0])}{MARK}{stack}"
        before, mark, behind = written.partition(MARK)
        if written.startswith("/"):
            if not mark:
                raise ValueError(
                    f"{self._said(written)} is no path from the experiment's file: write one, "
                    "such as lib/helper.so"
                )
            beside, written = Path(before or "/"), behind
        self.home = beside.resolve()
        self.name = posixpath.normpath(written or ".")
        if "\0" in self.name or not self.name.isprintable():
            raise ValueError(f"{self.name!r} is no name of a file")
        if all(part == ".." for part in self.name.split("/")) or self.name == ".":
            raise ValueError(
                f"{self._said(self.written)} is the experiment's own directory, or one above it: "
                "name what the flow needs of it"
            )
        if self.name.count("../") > MOST_ABOVE:
            raise ValueError(f"{self._said(self.name)} leads too far up")
        self.files: dict[str, File] = {}
        self.size = 0

    @staticmethod
    def _said(name: str) -> str:
        return units.shown(name[:SHOWN])

    def _path(self, name: str) -> Path:
        return Path(os.path.normpath(self.home / name))

    def found(self) -> Own:
        path = self._path(self.name)
        self._check_way(self.name, path)
        try:
            status = path.lstat()
        except OSError as error:
            near = ""
            if isinstance(error, FileNotFoundError) and path.parent.is_dir():
                near = nearest(
                    path.name, (each.name for each in path.parent.iterdir())
                ).removesuffix(".")
            raise ValueError(
                f"there is no file {self._said(self.name)} beside the experiment's, in "
                f"{self.home}{near}"
            ) from None
        self._take(self.name, path, status)
        is_directory = path.is_dir()
        return Own(self.written, self.name, is_directory, tuple(self.files.values()))

    def _check_way(self, name: str, path: Path) -> None:
        """The directories on the way are no links: what these lead to would have another name."""
        if path.parent.is_dir() and Path(os.path.realpath(path.parent)) != path.parent:
            raise ValueError(
                f"a directory on the way to {self._said(name)} is a symbolic link, to "
                f"{os.path.realpath(path.parent)}: name the file by where it is"
            )

    def _take(self, name: str, path: Path, status: os.stat_result) -> None:
        if name in self.files:
            return
        if len(self.files) >= MOST_FILES:
            raise ValueError(
                f"{self._said(self.name)} has more than {MOST_FILES} files: name what is needed"
            )
        if not path.name.isprintable():
            raise ValueError(f"{name!r} is no name of a file")
        if stat.S_ISLNK(status.st_mode):
            self._take_link(name, path)
        elif stat.S_ISDIR(status.st_mode):
            for inner in sorted(self._listed(path), key=lambda entry: entry.name):
                if inner.name not in LEFT_OUT:
                    status = inner.stat(follow_symlinks=False)
                    self._take(f"{name}/{inner.name}", Path(inner.path), status)
        elif stat.S_ISREG(status.st_mode):
            self._take_file(name, path, status)
        else:
            raise ValueError(f"{self._said(name)} is no file, but a pipe, a socket or a device")

    def _listed(self, path: Path) -> list[os.DirEntry[str]]:
        try:
            with os.scandir(path) as entries:
                return [*entries]
        except OSError as error:
            raise ValueError(f"{path} cannot be read: {error.strerror}") from None

    def _take_file(self, name: str, path: Path, status: os.stat_result) -> None:
        self.size += status.st_size
        if self.size > MOST_BYTES:
            raise ValueError(
                f"{self._said(self.name)} has more than {MOST_BYTES >> 20} MiB: name what is needed"
            )
        try:
            total = _sum(path, status.st_size, status.st_mtime_ns, status.st_ino)
        except OSError as error:
            raise ValueError(f"{self._said(name)} cannot be read: {error.strerror}") from None
        executable = bool(status.st_mode & 0o111)
        self.files[name] = File(name, path, total, executable, status.st_size)

    def _take_link(self, name: str, path: Path) -> None:
        """A link as it is, and what it leads to; one that leads out of the experiment is refused.

        An absolute one may lead to what the lab has there: lacking() sees to that.
        """
        target = str(path.readlink())
        there = Path(os.path.normpath(path.parent / target))
        within = (self.home, self._path(self.name))
        if not any(there.is_relative_to(each) for each in within):
            if target.startswith("/"):
                self.files[name] = File(name, path, target=target)
                return
            raise ValueError(
                f"{self._said(name)} is a symbolic link that leads out of the experiment's "
                f"directory, to {there}: copy that to where the link is"
            )
        led = os.path.relpath(there, self.home)
        self._check_way(led, there)
        try:
            status = there.lstat()
        except OSError:
            raise ValueError(
                f"{self._said(name)} is a symbolic link to {there}, which is not there"
            ) from None
        self.files[name] = File(name, path, target=os.path.relpath(there, path.parent))
        self._take(led, there, status)


def find(written: str, beside: Path) -> Own:
    """What an experiment in the directory `beside` names. Raises ValueError."""
    return _Search(written, beside).found()


def _read(value: object, info: ValidationInfo, take: Callable[[object, Path], Any]) -> list[Any]:
    """A list of words, each as `take` has it in the directory of the experiment's file."""
    if not isinstance(value, list):
        raise ValueError(f"{units.shown(value)} is not a list: begin each entry with '- '")
    beside = (info.context or {}).get(BESIDE, Path())
    found, problems = [], []
    for index, each in enumerate(value):
        try:
            found.append(take(each, beside))
        except ValueError as error:
            problems.append(((index,), str(error)))
    if problems:
        raise PartError(problems)
    return found


def _argv(value: object, info: ValidationInfo) -> list[str | Own]:
    def take(each: object, beside: Path) -> str | Own:
        written = word(each)
        return find(written, beside) if is_own(written) else written

    if value == []:
        raise ValueError("is empty: give at least one entry")
    return _read(value, info, take)


def _files(value: object, info: ValidationInfo) -> list[Own]:
    def take(each: object, beside: Path) -> Own:
        own = find(word(each), beside)
        if not own.files:
            raise ValueError(f"{own.name} has no file in it")
        return own

    return _read(value, info, take)


def _as_written(words: Iterable[str | Own]) -> list[str]:
    return [each.written if isinstance(each, Own) else each for each in words]


Argv = Annotated[
    list[str | Own],
    PlainValidator(_argv, json_schema_input_type=Annotated[list[Word], Field(min_length=1)]),
    PlainSerializer(_as_written),
]
"""A program and its words, of which those that begin with ./ or ../ are files of the user's own."""
Files = Annotated[
    list[Own],
    PlainValidator(_files, json_schema_input_type=list[str]),
    PlainSerializer(_as_written),
]


def wrong(argv: Sequence[str | Own], files: Iterable[Own]) -> Iterator[tuple[int, str]]:
    """What is wrong with the words of a command line, by their places."""
    directories = [each.name for each in files if each.is_directory]
    for index, each in enumerate(argv):
        if not isinstance(each, Own):
            continue
        if not each.is_directory:
            if index == 0 and (fault := _no_program(each)):
                yield index, fault
        elif index == 0:
            yield index, f"{each.name} is a directory, and no program: name the file in it"
        elif not any(each.name == name or each.name.startswith(f"{name}/") for name in directories):
            yield index, f"{each.name} is a directory: write it into `files` too"


def _no_program(own: Own) -> str | None:
    """Why a file is none that the lab's Linux starts, as far as that is known without a lab."""
    # It is behind its links; one of these may lead to a program of the lab's.
    file = next((each for each in reversed(own.files) if each.target is None), None)
    if file is None:
        return None
    if not file.executable:
        return f"{own.name} is not executable: make it so, chmod +x '{file.path}'"
    try:
        with file.path.open("rb") as opened:
            head = opened.read(len(elf.MAGIC))
        if head.startswith(SCRIPT):
            return None
        if head != elf.MAGIC:
            with_python = f", or write python3, {own.word}" if own.name.endswith(".py") else ""
            return (
                f"{own.name} is neither a program of Linux (ELF) nor a script: begin it with a "
                f"line such as #!/usr/bin/python3{with_python}"
            )
        found = elf.read(file.path)
    except elf.ElfError as error:
        return f"{own.name} {error}: build it again"
    except OSError as error:
        return f"{own.name} cannot be read: {error.strerror}"
    if not found.is_of_the_lab:
        return (
            f"{own.name} is built for {found.machine} with {found.bits} bits, and the lab is an "
            "x86-64 with 64: build it for that"
        )
    return f"{own.name} is an object file: link it to a program" if found.relocatable else None


def together(owns: Iterable[Own]) -> dict[str, File]:
    """All files of an experiment, by their names.

    Raises UsageError when two are called the same, and are not.
    """
    found: dict[str, File] = {}
    for file in (file for own in owns for file in own.files):
        before = found.setdefault(file.name, file)
        same = (before.sha256, before.target, before.executable)
        if same != (file.sha256, file.target, file.executable):
            raise UsageError(
                f"two files are called {file.name}: {before.path} and {file.path}", "Rename one."
            )
    if sum(file.size for file in found.values()) > MOST_BYTES:
        raise UsageError(
            f"the files that flows name are more than {MOST_BYTES >> 20} MiB together",
            "Name what they need of them.",
        )
    return found


def planned(files: dict[str, File]) -> OwnFiles:
    """The files as the plan has them."""
    above = max((name.count("../") for name in files), default=0)
    return {
        "here": "/".join([ABOVE] * above),
        "files": {
            name: {"sha256": file.sha256, "executable": file.executable}
            for name, file in sorted(files.items())
            if file.target is None
        },
        "links": {
            name: file.target for name, file in sorted(files.items()) if file.target is not None
        },
    }


def pack(files: dict[str, File], planned: OwnFiles, target: Path) -> None:
    """Write an archive of the files, laid out as the plan says; the same for the same files.

    Raises UsageError when one is no longer what it was when the experiment was read.
    """
    with tarfile.open(target, "w", format=tarfile.PAX_FORMAT) as archive:
        for name, file in sorted(files.items()):
            member = tarfile.TarInfo(posixpath.normpath(posixpath.join(planned["here"], name)))
            if file.target is not None:
                member.type, member.linkname = tarfile.SYMTYPE, file.target
                archive.addfile(member)
                continue
            content = file.path.read_bytes()
            if hashlib.sha256(content).hexdigest() != file.sha256:
                raise UsageError(f"{file.path} has just been changed", "Run it again.")
            member.size, member.mode = len(content), 0o755 if file.executable else 0o644
            archive.addfile(member, io.BytesIO(content))


def sums(planned: OwnFiles) -> dict[str, str]:
    """The SHA-256 of each file, by its path from the experiment's file, as run.json has them."""
    return {name: file["sha256"] for name, file in planned["files"].items()}
