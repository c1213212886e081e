"""What a guest may have touched: a directory that a lab could write to, after the lab's end.

The guest's root may leave a link there that leads elsewhere, a pipe that never ends, or a socket.
Whoever reads or writes by name would follow it.
"""

import stat
from collections.abc import Iterator
from pathlib import Path

from sandglass.errors import SandglassError

SHOWN = 5


def clear(directory: Path) -> list[str]:
    """Remove from a directory all but files of one name and directories; returns what it was.

    Nothing may be at work in it any more.
    """
    return [_removed(path, directory) for path in _below(directory) if not _is_plain(path)]


def _below(directory: Path) -> Iterator[Path]:
    for path in sorted(directory.iterdir()):
        yield path
        if stat.S_ISDIR(path.lstat().st_mode):
            path.chmod(0o755)
            yield from _below(path)


def _is_plain(path: Path) -> bool:
    status = path.lstat()
    return stat.S_ISDIR(status.st_mode) or (stat.S_ISREG(status.st_mode) and status.st_nlink == 1)


def _removed(path: Path, directory: Path) -> str:
    path.unlink()
    return str(path.relative_to(directory))


def refuse(found: list[str]) -> None:
    """Raise SandglassError if something was found."""
    if found:
        shown = ", ".join(map(repr, found[:SHOWN]))
        raise SandglassError(
            f"a program in the lab has left what is no file of its own: {shown}",
            "The run's directory takes files only: no links, pipes, sockets or second names.",
        )
