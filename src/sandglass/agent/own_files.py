"""The user's own files in a run, and the files that a flow leaves.

The former come in one archive, beside the plan, and are laid as files of the lab's memory that
nobody may write to: of the host's file system nothing shows, not even the order in a directory.
The latter a flow writes into a directory of its own, of memory as well, from which they are copied
to the run's directory when it has ended.
"""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

from sandglass.agent import kernel

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sandglass.agent.plan import OwnFiles

HIDDEN = "/run/sandglass-flows"
"""On a machine that is no lab it is hidden behind one of the agent's own."""
PLACE = f"{HIDDEN}/own"
LEFT = f"{HIDDEN}/out"
ARCHIVE = "own-files.tar"
MOST_LEFT = 128 << 20
"""Bytes that a flow may leave."""
MOST_FILES = 10_000
CHANGED_S = 1_700_000_000
"""When every file was changed: as the lab boots."""
NOT_KEPT = 3
"""So many that are not kept are named."""


def lay(own: OwnFiles, directory: str) -> None:
    """Lay the files of the archive in the run's directory at PLACE.

    Raises:
        RunError: that cannot be mounted.
    """
    import shutil
    import tarfile

    os.makedirs(PLACE, exist_ok=True)
    kernel.mount("tmpfs", PLACE, "mode=755,size=0")
    os.makedirs(here(own), exist_ok=True)
    with tarfile.open(os.path.join(directory, ARCHIVE)) as archive:
        for member in archive:
            path = os.path.join(PLACE, member.name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            if member.issym():
                os.symlink(member.linkname, path)
                continue
            content = archive.extractfile(member)
            assert content
            with open(path, "wb") as file:
                shutil.copyfileobj(content, file)
            os.chmod(path, member.mode)
    for folder, _, names in os.walk(PLACE, topdown=False):
        for path in (*(os.path.join(folder, name) for name in sorted(names)), folder):
            os.utime(path, (CHANGED_S, CHANGED_S), follow_symlinks=False)
    kernel.protect(PLACE)


def here(own: OwnFiles) -> str:
    """Where the experiment's file would lie."""
    return os.path.normpath(os.path.join(PLACE, own["here"]))


def place(flow: int) -> str:
    """The directory that a flow may leave files in."""
    return f"{LEFT}/{flow}"


def make(flow: int) -> None:
    """Make that directory, empty.

    Raises:
        RunError: it cannot be mounted.
    """
    os.makedirs(place(flow), exist_ok=True)
    kernel.mount("tmpfs", place(flow), f"mode=755,size={MOST_LEFT},nr_inodes={MOST_FILES}")


def keep(flow: int, target: str) -> list[str]:
    """Copy what a flow has left to a directory, unless that is nothing; returns what is doubtful.

    Only files with one name are kept: no links, pipes, sockets or devices.
    """
    import shutil

    top = place(flow)
    others = []
    for path, status in _below(top):
        name = os.path.relpath(path, top)
        if not stat.S_ISREG(status.st_mode) or status.st_nlink > 1 or not name.isprintable():
            others.append(name)
            continue
        copy = os.path.join(target, name)
        os.makedirs(os.path.dirname(copy), exist_ok=True)
        shutil.copyfile(path, copy)
    doubts = []
    if others:
        more = f" and {len(others) - NOT_KEPT} more" if len(others) > NOT_KEPT else ""
        named = ", ".join(map(repr, others[:NOT_KEPT]))
        doubts.append(f"left what is no file of its own, which is not kept: {named}{more}")
    room = os.statvfs(top)
    if not room.f_bfree or not room.f_ffree:
        doubts.append(
            f"has filled the {MOST_LEFT >> 20} MiB and {MOST_FILES} files that it may leave"
        )
    return doubts


def _below(folder: str) -> Iterator[tuple[str, os.stat_result]]:
    """All but directories in a directory, in order of their names."""
    for name in sorted(os.listdir(folder)):
        path = os.path.join(folder, name)
        status = os.lstat(path)
        if stat.S_ISDIR(status.st_mode):
            yield from _below(path)
        else:
            yield path, status
