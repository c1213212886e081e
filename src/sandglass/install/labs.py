"""Labs as files: one that is built is written to a file, and one of a file is put into the cache.

A file begins with a line that names its format and the checksum of all that follows: a tar archive,
compressed by xz, of the lab's three directories as they lie in the cache. So a machine with Python,
and without compilers, packages or root, has a lab.
"""

import contextlib
import fcntl
import hashlib
import os
import re
import shutil
import stat
import sys
import tarfile
import tempfile
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import BinaryIO, Final, cast

from rich.console import Console
from rich.progress import track, wrap_file
from rich.table import Table

from sandglass.errors import SandglassError, UsageError
from sandglass.install import archive, builds, manifests
from sandglass.install.root import MADE_S

FORMAT = b"sandglass-lab-1"
HEAD = re.compile(FORMAT + rb" ([0-9a-f]{64})\n")
HEAD_BYTES = len(FORMAT) + 66
PRESET: Final = 1
"""Of xz: 3 takes more than twice as long, and saves a tenth."""
MOST_BYTES: Final = 1 << 31
MOST_TIMES: Final = 20
LEAST_BYTES: Final = 1 << 26
"""A file may grow to so many bytes, and to so many times its own, or these few. A lab of 210 MB has
a file of 57 MB."""
SCRATCH = "lab-"
KERNEL, GUEST, PROGRAMS = PARTS = ("kernel", "modules and init", "programs")
"""What the places of a lab hold."""
REFUSED = "Nothing of it is in the cache. Ask whoever made it for another."
MANY = 4
"""So many modules are counted, not named."""
TERMINAL = Console(stderr=True)


def export(lab: builds.Lab, target: Path) -> None:
    """Write a lab to a file, which appears whole or not at all.

    Raises UsageError when there is such a file already.
    """
    if target.exists():
        raise UsageError(f"{target} is there already", "Remove it, or name another file.")
    with _beside(target) as partial:
        partial.write(bytes(HEAD_BYTES))
        with tarfile.open(
            fileobj=partial, mode="w:xz", preset=PRESET, format=tarfile.PAX_FORMAT
        ) as tar:
            for path in track(list(_files(lab)), "writing", console=TERMINAL, transient=True):
                _copy(tar, path)
        partial.seek(HEAD_BYTES)
        total = archive.checksum(partial)
        partial.seek(0)
        partial.write(b"%s %s\n" % (FORMAT, total.encode()))
        partial.flush()
        os.fsync(partial.fileno())
        try:
            os.link(partial.name, target)
        except FileExistsError:
            raise UsageError(f"{target} is there already", "Another export made it.") from None


@contextlib.contextmanager
def _beside(target: Path) -> Iterator[BinaryIO]:
    """A file in the directory of `target` that goes when the block ends."""
    with tempfile.NamedTemporaryFile(dir=target.parent, prefix=".", suffix=".partial") as partial:
        os.fchmod(partial.fileno(), 0o644)
        yield cast(BinaryIO, partial.file)


def _files(lab: builds.Lab) -> Iterator[Path]:
    """What a lab's file holds, in an order that does not depend on the host.

    The lab of a file and the one that the file was made of give the same.
    """
    kernel, guest, root = lab.places
    yield from sorted(path for path in kernel.iterdir() if path.is_file())
    for place in (guest, root):
        found = sorted([place, *place.rglob("*")])
        yield from (path for path in found if path != guest / builds.IMPORTED)


def _copy(tar: tarfile.TarFile, path: Path) -> None:
    """Add a file of the cache, by whom and when it was made apart.

    So two builds give the same bytes. Nothing asks for the times: the guest's Python takes what is
    compiled unchecked, as root.py sees to, and all of a root has the time of MADE_S.
    """
    member = tar.gettarinfo(path, str(path.relative_to(builds.directory())))
    if member.islnk():  # a hard link to a file outside
        member.type, member.size, member.linkname = tarfile.REGTYPE, path.stat().st_size, ""
    member.uid = member.gid = 0
    member.uname = member.gname = ""
    member.mode &= 0o777  # as it is imported
    member.mtime = MADE_S
    if member.isreg():
        with path.open("rb") as content:
            tar.addfile(member, content)
    else:
        tar.addfile(member)


def take(source: Path) -> builds.Lab:
    """Put the lab of a file into the cache; what is there already, and equal, stays.

    Raises UsageError when there is no such file, or it is no lab's; SandglassError when a byte of
    it is not what it was, it holds what no lab does, or the cache has a lab, a kernel or a root of
    that name with other content. Nothing of it is in the cache then.
    """
    with _opened(source) as file:
        head = HEAD.fullmatch(file.read(HEAD_BYTES))
        if not head:
            raise UsageError(f"{source} is no file of a lab", "`sandglass lab export` writes one.")
        if archive.checksum(file) != head[1].decode():
            raise SandglassError(
                f"{source} is damaged: its content is not that of its checksum", "Copy it again."
            )
        file.seek(HEAD_BYTES)
        with (
            _alone(),
            tempfile.TemporaryDirectory(dir=builds.directory(), prefix=SCRATCH) as scratch,
        ):
            try:
                _unpack(file, Path(scratch))
                lab = _described(Path(scratch))
            except archive.ArchiveError as error:
                raise SandglassError(f"{source} is refused: {error.message}", REFUSED) from None
            _compare(source, lab, Path(scratch))
            (lab.places_in(Path(scratch))[1] / builds.IMPORTED).touch(exist_ok=False)
            _install(lab, Path(scratch))
            kernel, _, root = lab.places
            for place in (kernel / builds.BUILD_FILE, root):  # the newest is used
                os.utime(place)
    return lab


def checksum(path: Path) -> str:
    """SHA-256 of a whole file, as sha256sum prints it."""
    with _opened(path) as file:
        return archive.checksum(file)


@contextlib.contextmanager
def _opened(source: Path) -> Iterator[BinaryIO]:
    """A file that somebody has named; raises UsageError when there is none."""
    try:
        descriptor = os.open(source, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)  # a pipe waits
    except OSError as error:
        raise UsageError(f"{source}: {error.strerror}") from None
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise UsageError(f"{source} is a directory, a pipe or a device", "Name a file.")
    with open(descriptor, "rb") as file:  # noqa: PTH123 a descriptor
        yield file


@contextlib.contextmanager
def _alone() -> Iterator[None]:
    """Waits until no build and no other import is at work in the cache."""
    builds.directory().mkdir(parents=True, exist_ok=True)
    with (builds.directory() / "build.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print("waiting for a build or an import to end", file=sys.stderr, flush=True)
            fcntl.flock(lock, fcntl.LOCK_EX)
        for left in builds.directory().glob(f"{SCRATCH}*"):  # by an import that was killed
            shutil.rmtree(left)
        yield


def _unpack(file: BinaryIO, scratch: Path) -> None:
    """Lay a lab's members below `scratch`."""
    size = os.fstat(file.fileno()).st_size
    most = min(MOST_BYTES, max(LEAST_BYTES, MOST_TIMES * size))
    shown = wrap_file(file, size, description="unpacking", console=TERMINAL, transient=True)
    with shown as read:
        archive.unpack(archive.Xz(read, most), scratch, _belongs, exact=True)


def _belongs(member: archive.Member) -> bool:
    """Whether a lab has such a member.

    What this machine reads of it, all but the guest's root and tc's plugins, holds no link. And it
    has nothing of what builds keep beside a kernel, and would use.
    """
    match member.parts:
        case ["kernels", _, _]:
            return member.kind != "link"
        case ["kernels", _, _, *inner]:
            linked = inner[:2] == ["lib", "tc"] and len(inner) > len(("lib", "tc"))
            return inner != [builds.IMPORTED] and (member.kind != "link" or linked)
        case ["roots", _]:
            return member.kind == "directory"
        case ["roots", _, builds.ROOT_LIST]:
            return member.kind == "file"
        case ["roots", _, builds.ROOT_FILES]:
            return member.kind == "directory"
        case ["roots", _, builds.ROOT_FILES, *_]:
            return True
    return False


def _described(scratch: Path) -> builds.Lab:
    """The lab that is unpacked, by its lab.json.

    Raises ArchiveError when that says anything else than what lies there.
    """
    kernels, roots = (sorted(scratch.glob(f"{kind}/*")) for kind in ("kernels", "roots"))
    guests = [path for kernel in kernels for path in kernel.iterdir() if path.is_dir()]
    if not len(kernels) == len(guests) == len(roots) == 1:
        raise archive.ArchiveError("it has not one kernel with its modules and one root")
    kernel, guest, root = *kernels, *guests, *roots
    needed = (kernel / "linux", guest / "init", root / builds.ROOT_LIST)
    for path in (kernel / builds.BUILD_FILE, guest / builds.LAB_FILE, *needed):
        if not path.is_file():
            raise archive.ArchiveError(f"it has no {path.relative_to(scratch)}")
    try:
        lab = builds.Lab(**manifests.lab(guest / builds.LAB_FILE))
        manifests.kernel(kernel / builds.BUILD_FILE)
        manifests.root(root / builds.ROOT_LIST)
    except manifests.ManifestError as error:
        raise archive.ArchiveError(error.message.removeprefix(f"{scratch}/")) from None
    if "recorder" not in lab.module_builds:  # a kernel alone, as of an image's first layer
        raise archive.ArchiveError("it has no recorder")
    if lab.places_in(scratch) != (kernel, guest, root):
        raise archive.ArchiveError(f"its {builds.LAB_FILE} names other directories than it has")
    return lab


def _compare(source: Path, lab: builds.Lab, scratch: Path) -> None:
    """Refuse a lab that the cache has, in whole or in part, with other content.

    What lab.json says is left out: two builds of one lab may lie in different directories.
    """
    came = lab.places_in(scratch)
    same = [each.places for each in builds.labs() if each.id == lab.id]
    for places in [*same, lab.places]:
        for part, here, there in zip(PARTS, came, places, strict=True):
            if not os.path.lexists(there):
                continue
            sums = _content(part, there), _content(part, here)
            if sums[0] != sums[1]:
                raise SandglassError(
                    f"the cache has other {part} for the lab {lab.id} than {source}",
                    f"{sums[0]}  {there}\n{sums[1]}  {source}\n"
                    "Another compiler may have built it, or one of the two is not what it says.\n"
                    "`./sandglass lab list` tells which labs there are, `lab remove` removes one.",
                )


def _content(part: str, place: Path) -> str:
    """SHA-256 over what a file of a lab has of a directory: names, links, what can be executed."""
    found = place.iterdir() if part == KERNEL else place.rglob("*")
    digest = hashlib.sha256()
    for path in sorted(found):
        status = path.lstat()
        if part == KERNEL and not stat.S_ISREG(status.st_mode):
            continue
        if part == GUEST and path in (place / builds.LAB_FILE, place / builds.IMPORTED):
            continue
        kind = "link" if path.is_symlink() else "directory" if path.is_dir() else "file"
        words = [str(path.relative_to(place)), kind]
        if kind == "link":
            words.append(str(path.readlink()))
        if kind == "file":
            words += [str(bool(status.st_mode & stat.S_IXUSR)), checksum(path)]
        digest.update("\0".join([*words, ""]).encode("utf-8", "surrogateescape"))
    return digest.hexdigest()


def _install(lab: builds.Lab, scratch: Path) -> None:
    """Move what is unpacked to its places, of which the last move makes a lab, or none."""
    kernel, guest, root = zip(lab.places_in(scratch), lab.places, strict=True)
    moved = []
    try:
        for came, place in (root, kernel, guest):  # the guest lies in its kernel's directory
            if not place.exists():
                place.parent.mkdir(parents=True, exist_ok=True)
                came.rename(place)
                moved.append((came, place))
    except BaseException:
        for came, place in reversed(moved):
            place.rename(came)
        raise


def remove(lab: builds.Lab) -> None:
    """Take a lab out of the cache, and of its kernel and root what no other lab has."""
    with (
        _alone(),
        tempfile.TemporaryDirectory(dir=builds.directory(), prefix=SCRATCH) as scratch,
    ):
        going = [each for each in builds.labs() if each.id == lab.id]  # or of several compilers
        for each in going:
            each.places[1].rename(Path(scratch) / each.guest)
        others = builds.labs()
        kernels = {each.kernel for each in going} - {other.kernel for other in others}
        roots = {each.root for each in going} - {other.root for other in others}
        for each in going:
            kernel, _, root = each.places
            if each.kernel in kernels and kernel.is_dir():
                kernel.rename(Path(scratch) / each.kernel)
            if each.root in roots and root.is_dir():
                root.rename(Path(scratch) / each.root)


def report(labs: list[builds.Lab]) -> None:
    """Print what labs there are: the one in use first, then the others by when they were used."""
    table = Table("lab", "Linux", "last used", "", box=None, pad_edge=False, header_style="bold")
    in_use = ""
    with contextlib.suppress(SandglassError):
        in_use = builds.lab().id
    names = builds.names()
    newest: dict[str, builds.Lab] = {}
    for lab in labs:
        newest.setdefault(lab.id, lab)
    for lab in sorted(newest.values(), key=lambda lab: lab.id != in_use):
        kernel, guest, _ = lab.places
        built = manifests.kernel(kernel / builds.BUILD_FILE)
        version = str(built["source"]).rpartition(" ")[2].partition("-")[0]
        debug = " debug" if builds.is_debug(lab.name) else ""
        used = datetime.fromtimestamp(guest.stat().st_mtime).strftime("%Y-%m-%d %H:%M")
        about = ["in use"] if lab.id == in_use else []
        given = [name for name, own in names.items() if own == lab.id and name != lab.tree]
        about += [f"called {', '.join(given)}"] if given else []
        about += [f"of the tree {lab.tree}"] if lab.tree else []
        about += [f"without {each}" for each in built.get("lost", ())]
        about += ["from a file"] if builds.is_imported(guest) else []
        about += [f"with {' '.join(lab.packages)}"] if lab.packages else []
        if differing := differences(lab):
            about += [f"differs in {', '.join(differing)}"]
        table.add_row(lab.id, version + debug, used, "; ".join(about))
    Console(markup=False, emoji=False, highlight=False).print(table)


def differences(lab: builds.Lab) -> list[str]:
    """In what a lab is not what this checkout's sources would make of it.

    Of a tree's kernel only the tree tells.
    """
    kernel, root = builds.built_kernel(lab.name), builds.built_root(lab.packages)
    modules = builds.module_builds()
    changed = {name for name, _ in lab.module_builds.items() ^ modules.items()}
    same = lab.tree or (kernel and builds.kernel_build(kernel) == lab.build)
    found = [] if same else ["kernel"]
    found += [] if root and root.name == lab.root else ["programs"]
    return found + (sorted(changed) if len(changed) < MANY else [f"{len(changed)} modules"])
