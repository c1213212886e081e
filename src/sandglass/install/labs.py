"""Labs as files: one that is built is written to a file, and one of a file is put into the cache.

A file begins with a line that names its format and the checksum of all that follows: a tar archive,
compressed by xz, of the lab's three directories as they lie in the cache. So a machine with Python,
and without compilers, packages or root, has a lab.
"""

import contextlib
import fcntl
import hashlib
import json
import os
import re
import shutil
import tarfile
import tempfile
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path, PurePosixPath
from typing import BinaryIO, Final, cast

from rich.console import Console
from rich.progress import track, wrap_file
from rich.table import Table

from sandglass.errors import SandglassError, UsageError
from sandglass.install import builds
from sandglass.install.root import MADE_S

FORMAT = b"sandglass-lab-1"
HEAD = re.compile(FORMAT + rb" ([0-9a-f]{64})\n")
HEAD_BYTES = len(FORMAT) + 66
PRESET: Final = 1
"""Of xz: 3 takes more than twice as long, and saves a tenth."""
CHUNK = 1 << 20
SCRATCH = "lab-"
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
        with tarfile.open(fileobj=partial, mode="w:xz", preset=PRESET) as tar:
            for path in track(list(_files(lab)), "writing", console=TERMINAL, transient=True):
                _copy(tar, path)
        partial.seek(HEAD_BYTES)
        total = _checksum(partial)
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
    """Add a file of the cache, by whom and when it was made apart."""
    member = tar.gettarinfo(path, str(path.relative_to(builds.directory())))
    if member.islnk():  # a hard link to a file outside
        member.type, member.size, member.linkname = tarfile.REGTYPE, path.stat().st_size, ""
    member.uid = member.gid = 0
    member.uname = member.gname = ""
    # a directory's or link's own time is when it was unpacked or, of a guest, last used
    member.mtime = int(member.mtime) if member.isreg() else MADE_S
    if member.isreg():
        with path.open("rb") as content:
            tar.addfile(member, content)
    else:
        tar.addfile(member)


def _checksum(file: BinaryIO) -> str:
    """Of what follows in an open file."""
    digest = hashlib.sha256()
    while block := file.read(CHUNK):
        digest.update(block)
    return digest.hexdigest()


def take(source: Path) -> builds.Lab:
    """Put the lab of a file into the cache; what is there already stays.

    Raises UsageError when there is no such file, or it is no lab's; SandglassError when a byte of
    it is not what it was. Nothing of it is in the cache then.
    """
    try:
        file = source.open("rb")
    except OSError as error:
        raise UsageError(f"{source}: {error.strerror}") from None
    with file, _alone():
        head = HEAD.fullmatch(file.read(HEAD_BYTES))
        if not head:
            raise UsageError(f"{source} is no file of a lab", "`sandglass lab export` writes one.")
        if _checksum(file) != head[1].decode():
            raise SandglassError(
                f"{source} is damaged: its content is not that of its checksum", "Copy it again."
            )
        file.seek(HEAD_BYTES)
        with tempfile.TemporaryDirectory(dir=builds.directory(), prefix=SCRATCH) as scratch:
            _unpack(file, Path(scratch))
            [about] = Path(scratch).glob(f"kernels/*/*/{builds.LAB_FILE}")
            lab = builds.Lab(**json.loads(about.read_text()))
            (about.parent / builds.IMPORTED).touch()
            _install(lab, Path(scratch))
    return lab


@contextlib.contextmanager
def _alone() -> Iterator[None]:
    """Waits until no build and no other import is at work in the cache."""
    builds.directory().mkdir(parents=True, exist_ok=True)
    with (builds.directory() / "build.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for left in builds.directory().glob(f"{SCRATCH}*"):  # by an import that was killed
            shutil.rmtree(left)
        yield


def _unpack(file: BinaryIO, scratch: Path) -> None:
    """Lay an archive's members below `scratch`, of which none may come to lie elsewhere."""
    size = os.fstat(file.fileno()).st_size
    place = scratch.resolve()
    folders = []
    shown = wrap_file(file, size, description="unpacking", console=TERMINAL, transient=True)
    with shown as read, tarfile.open(fileobj=read, mode="r|xz") as tar:
        # Python's own filter, in use from 3.14 on, refuses absolute links, which a root has.
        tar.extraction_filter = lambda member, _: member
        for member in tar:
            name = PurePosixPath(member.name)
            target = place / name
            if name.is_absolute() or ".." in name.parts or target.parent.resolve() != target.parent:
                raise SandglassError(f"{member.name} would lie outside of the lab")
            if not (member.isreg() or member.isdir() or member.issym()):
                raise SandglassError(f"{member.name} is no file, directory or link")
            tar.extract(member, place)
            if member.isdir():
                folders.append((target, member.mtime))
    for folder, mtime in reversed(folders):  # what came into it has changed it
        os.utime(folder, (mtime, mtime))


def _install(lab: builds.Lab, scratch: Path) -> None:
    """Move what is unpacked to its places, the kernel's directory before the guest in it."""
    for place in lab.places:
        came = scratch / place.relative_to(builds.directory())
        if not place.exists():
            place.parent.mkdir(parents=True, exist_ok=True)
            came.rename(place)


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
    newest: dict[str, builds.Lab] = {}
    for lab in labs:
        newest.setdefault(lab.id, lab)
    for lab in sorted(newest.values(), key=lambda lab: lab.id != in_use):
        kernel, guest, _ = lab.places
        source = json.loads((kernel / "build.json").read_text())["source"]
        version = source.split()[-1].partition("-")[0]
        debug = " debug" if builds.is_debug(lab.name) else ""
        used = datetime.fromtimestamp(guest.stat().st_mtime).strftime("%Y-%m-%d %H:%M")
        about = ["in use"] if lab.id == in_use else []
        about += ["from a file"] if builds.is_imported(guest) else []
        about += [f"with {' '.join(lab.packages)}"] if lab.packages else []
        if differing := differences(lab):
            about += [f"differs in {', '.join(differing)}"]
        table.add_row(lab.id, version + debug, used, "; ".join(about))
    Console().print(table)


def differences(lab: builds.Lab) -> list[str]:
    """In what a lab is not what this checkout's sources would make of it."""
    kernel, root = builds.built_kernel(lab.name), builds.built_root(lab.packages)
    modules = builds.module_builds()
    changed = {name for name, _ in lab.module_builds.items() ^ modules.items()}
    found = [] if kernel and builds.kernel_build(kernel) == lab.build else ["kernel"]
    found += [] if root and root.name == lab.root else ["programs"]
    return found + (sorted(changed) if len(changed) < MANY else [f"{len(changed)} modules"])
