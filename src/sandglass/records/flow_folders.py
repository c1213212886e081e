"""The files that flows have left in a run's directory: command-ID/ of each that has left any.

A program in a lab has written them. They are no more than data: nobody may execute one.
"""

import re
import stat
from pathlib import Path

from sandglass.agent.own_files import MOST_FILES, MOST_LEFT
from sandglass.errors import SandglassError

FOLDER = re.compile(r"command-[1-9]\d*")
QLOG = "qlog"
"""The table that those of them become which are qlog's."""


def folders(directory: Path) -> list[Path]:
    """Those of flows in a run's directory, in order of their names."""
    return sorted(path for path in directory.iterdir() if FOLDER.fullmatch(path.name))


def files(folder: Path) -> list[Path]:
    """All files in a flow's, in order of their names."""
    return sorted(path for path in folder.rglob("*") if not path.is_dir())


def check(directory: Path) -> None:
    """See that flows have left no more than they may, by names that are text; no file is a program.

    Only files and directories may be there: see lab/touched.py. Raises SandglassError.
    """
    for folder in folders(directory):
        found = files(folder)
        size = sum(path.lstat().st_size for path in found)
        if size > MOST_LEFT or len(found) > MOST_FILES:
            raise SandglassError(
                f"{folder.name} has {len(found)} files with {size >> 20} MiB",
                f"A flow may leave {MOST_FILES} files with {MOST_LEFT >> 20} MiB.",
            )
        for path in found:
            if not str(path.relative_to(directory)).isprintable():
                raise SandglassError(f"{folder.name} has a file whose name is no text: {path!r}")
            path.chmod(stat.S_IMODE(path.lstat().st_mode) & 0o644 | 0o600)
