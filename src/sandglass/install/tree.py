"""A kernel's tree of somebody's: what is in it, and what it is called. Nothing of it is changed.

It is a git checkout as it lies there, one commit of its repository, or a folder of sources.

Nothing here needs more than the standard library, as in builds.py.
"""

import fnmatch
import hashlib
import os
import re
import stat
import subprocess
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from sandglass.errors import UsageError
from sandglass.install import builds

OLDEST = "6.6"
"""The oldest series that is taken."""
FILE, PROGRAM, LINK = "100644", "100755", "120000"
"""What an entry is, as git has it."""
SKIPPED = (
    *("*.dts", "*.dtsi", "*.dtso", "arch/[!ux]*/*.[chS]", "sound/*.[ch]"),
    *("drivers/gpu/*.[ch]", "drivers/media/*.[ch]", "drivers/net/wireless/*.[ch]"),
    *("drivers/net/ethernet/*.[ch]", "tools/testing/*", "tools/perf/*", "Documentation/*.rst"),
    "Documentation/*.yaml",
)
"""What no lab is built from: more than half of a tree."""
PRODUCTS = (
    *("*.o", "*.a", "*.ko", "*.mod", "*.mod.c", "*.order", ".*", "*/.*", "vmlinux*", "linux"),
    *("System.map", "Module.symvers", "include/config/*", "include/generated/*"),
    "arch/*/include/generated/*",
)
"""What a build leaves in a folder: git knows by itself what it does not keep."""
VERSION = re.compile(r"^(VERSION|PATCHLEVEL|SUBLEVEL|EXTRAVERSION)[ \t]*=[ \t]*(\S*)[ \t]*$", re.M)


def _pattern(names: Iterable[str]) -> re.Pattern[str]:
    return re.compile("|".join(map(fnmatch.translate, names)))


_SKIPPED, _PRODUCTS = _pattern(SKIPPED), _pattern(PRODUCTS)

Seen = dict[str, list[int | str]]
"""Size, time (ns) and checksum of files in a folder, by their names: what has these is not read."""


@dataclass(frozen=True)
class Tree:
    """What a lab can be built from."""

    place: Path
    files: Mapping[str, str]
    """Of each file the mode and the checksum of its content, as git has them."""
    read: Callable[[str], bytes]
    """A file's content; of a link, where it points."""
    commit: str = ""
    """The commit that it is at; of a folder, none."""
    changed: bool = False
    """Whether it is not what that commit has."""

    @cached_property
    def version(self) -> str:
        """What its Makefile says, such as 6.12.117 or 7.3.0-rc1.

        Raises UsageError where it is no kernel's tree with User-Mode Linux in it, or too old.
        """
        if "Makefile" not in self.files or "arch/um/Makefile" not in self.files:
            raise UsageError(
                f"{self.place} is no tree of a kernel: it has no Makefile or no arch/um",
                "Name the directory that a kernel's sources lie in.",
            )
        parts = dict(VERSION.findall(self.read("Makefile").decode(errors="replace")))
        version = ".".join(parts.get(key, "") for key in ("VERSION", "PATCHLEVEL", "SUBLEVEL"))
        version += re.sub(r"[^\w.+-]", "_", parts.get("EXTRAVERSION", ""))
        if not re.match(r"\d+\.\d+\.\d+", version):
            raise UsageError(f"{self.place / 'Makefile'}: it says no version of Linux")
        if builds.age(_series(version)) < builds.age(OLDEST):
            raise UsageError(
                f"{self.place} is Linux {version}: a lab is of {OLDEST} or later",
                f"Sandglass's patches are for {' and '.join(builds.kernels())}.",
            )
        return version

    @property
    def series(self) -> str:
        """Of its version: 6.12 or 7.3."""
        return _series(self.version)

    @cached_property
    def content(self) -> str:
        """12 hex digits over all that a lab can be built from."""
        return builds.fingerprint(
            [], *(f"{name} {self.files[name]}" for name in sorted(self.files))
        )

    @property
    def label(self) -> str:
        """What its lab is called: version, commit, and 8 hex digits where it differs from that."""
        if not self.commit:
            return f"{self.version}-{self.content}"
        return f"{self.version}-g{self.commit[:12]}" + f"-{self.content[:8]}" * self.changed


def _series(version: str) -> str:
    return ".".join(version.split(".")[:2])


def read(place: Path, seen: Seen | None = None) -> Tree:
    """The tree that lies in a directory; raises UsageError where there is none.

    Args:
        seen: what is known of a folder's files; it is brought up to date.
    """
    if not place.is_dir():
        raise UsageError(f"{place} is no directory", "Name the tree of a kernel.")
    return _checkout(place) if is_checkout(place) else _folder(place, {} if seen is None else seen)


def is_checkout(place: Path) -> bool:
    """Whether a directory is the top of a git checkout."""
    if not (place / ".git").exists():
        return False
    git(place, "rev-parse", "HEAD")  # which says what is wrong with it
    return True


def _checkout(place: Path) -> Tree:
    staged: dict[str, str] = {}
    for entry in git(place, "ls-files", "-s", "-z").split("\0"):
        about, _, name = entry.partition("\t")
        if name and not _SKIPPED.match(name):
            mode, checksum, _ = about.split()
            if mode in (FILE, PROGRAM, LINK):
                staged[name] = f"{mode} {checksum}"
    others = git(place, "ls-files", "-o", "--exclude-standard", "-z").split("\0")
    files = dict(staged)
    for name in {*git(place, "diff-files", "--name-only", "-z").split("\0"), *others} - {""}:
        if _SKIPPED.match(name):
            continue
        files.pop(name, None)
        if found := _entry(place / name):
            files[name] = found
    commit = git(place, "rev-parse", "HEAD").strip()
    changed = files != staged or bool(git(place, "diff-index", "--cached", "--name-only", "HEAD"))

    def content(name: str) -> bytes:
        try:
            return _content(place / name)
        except FileNotFoundError:  # of a sparse checkout
            return subprocess.run(
                _command(place, "show", f":{name}"), env=_environment(), check=True, stdout=-1
            ).stdout

    return Tree(place, files, content, commit, changed)


def revision(place: Path, commit: str) -> Tree:
    """What a repository has at a commit, whatever is checked out; raises UsageError."""
    if not is_checkout(place):
        raise UsageError(f"{place} is no git checkout", "Only one has revisions.")
    commit = resolve(place, commit)
    files = {}
    for entry in git(place, "ls-tree", "-r", "-z", commit).split("\0"):
        about, _, name = entry.partition("\t")
        if name and not _SKIPPED.match(name):
            mode, kind, checksum = about.split()
            if kind == "blob":
                files[name] = f"{mode} {checksum}"
    blobs = _Blobs(place)
    return Tree(place, files, lambda name: blobs.read(files[name].split()[1]), commit)


def resolve(place: Path, name: str) -> str:
    """The whole name of a commit; raises UsageError where there is none of that name."""
    found = git(place, "rev-parse", "--verify", "--quiet", f"{name}^{{commit}}", fails=True).strip()
    if not found:
        raise UsageError(f"{place} has no commit {name}", "Name one as git log shows it.")
    return found


class _Blobs:
    """Contents out of a repository, one after the other."""

    def __init__(self, place: Path) -> None:
        self.place = place

    @cached_property
    def process(self) -> "subprocess.Popen[bytes]":
        return subprocess.Popen(
            _command(self.place, "cat-file", "--batch"),
            env=_environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )

    def read(self, checksum: str) -> bytes:
        assert self.process.stdin
        assert self.process.stdout
        self.process.stdin.write(f"{checksum}\n".encode())
        self.process.stdin.flush()
        head = self.process.stdout.readline().split()
        if len(head) != 3 or head[1] != b"blob":
            raise UsageError(f"{self.place} lacks a part of its history: {checksum} is missing")
        content = self.process.stdout.read(int(head[2]))
        self.process.stdout.read(1)
        return content


def _folder(place: Path, seen: Seen) -> Tree:
    files: dict[str, str] = {}
    for name in _names(place):
        path = place / name
        status = path.lstat()
        known = seen.get(name)
        if known and known[:2] == [status.st_size, status.st_mtime_ns]:
            files[name] = str(known[2])
        elif found := _entry(path):
            files[name] = found
            seen[name] = [status.st_size, status.st_mtime_ns, found]
    for name in seen.keys() - files.keys():
        del seen[name]
    return Tree(place, files, lambda name: _content(place / name))


def _names(place: Path) -> Iterator[str]:
    """The files of a folder without a build's products."""
    for folder, folders, names in os.walk(place):
        folders[:] = [each for each in folders if not each.startswith(".")]
        links = [each for each in folders if Path(folder, each).is_symlink()]
        for each in (*names, *links):
            name = os.path.relpath(os.path.join(folder, each), place)  # noqa: PTH118 of 60,000
            if not _SKIPPED.match(name) and not _PRODUCTS.match(name):
                yield name


def _entry(path: Path) -> str | None:
    """Mode and checksum of a file as git has them; of none, and of what is no file, None."""
    try:
        mode = path.lstat().st_mode
        if not stat.S_ISREG(mode) and not stat.S_ISLNK(mode):
            return None
        content = _content(path)
    except FileNotFoundError:
        return None
    kind = LINK if stat.S_ISLNK(mode) else PROGRAM if mode & stat.S_IXUSR else FILE
    checksum = hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False)
    return f"{kind} {checksum.hexdigest()}"


def _content(path: Path) -> bytes:
    return os.fsencode(path.readlink()) if path.is_symlink() else path.read_bytes()


def git(place: Path, *words: str, fails: bool = False) -> str:
    """What git says of a repository, in which it changes nothing.

    Raises UsageError with its own words when it fails, unless that is allowed.
    """
    try:
        done = subprocess.run(
            _command(place, *words), env=_environment(), capture_output=True, check=False
        )
    except FileNotFoundError:
        raise UsageError("git is not installed, and the tree is a git checkout") from None
    if done.returncode and not fails:
        said = done.stderr.decode(errors="replace").strip()
        raise UsageError(f"git {' '.join(words)}, in {place}: {said}")
    return os.fsdecode(done.stdout)


def _command(place: Path, *words: str) -> list[str]:
    # A refreshed index is written, and a monitor of files is a program that the repository names.
    return ["git", "--no-optional-locks", "-c", "core.fsmonitor=false", "-C", str(place), *words]


def _environment() -> dict[str, str]:
    """Without what a hook of another repository has told git."""
    return {key: text for key, text in os.environ.items() if not key.startswith("GIT_")}
