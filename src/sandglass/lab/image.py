"""The image out of which a lab's Python takes the code of our modules (agent/boot.py).

There is one for each root of programs and each state of our code, in the cache, below images/.
"""

import contextlib
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

from sandglass.errors import SandglassError
from sandglass.install import builds

PROGRAM = "src/sandglass/agent/imaging.py"
FILE = "python"
FOLDERS = ("src/sandglass/agent", "topologies", "workloads")
PACKAGE = "src/sandglass/__init__.py"
KEPT = 8
"""How many stay when another one is made."""


def found(root: Path, make: Callable[[Path], object]) -> Path | None:
    """The directory of the image for a root; None where nothing can be kept, or none can be made.

    `make` is to put it into a directory, when it is not there.
    """
    builds_of_ours = map(builds.folder_build, FOLDERS)
    key = builds.fingerprint([builds.ROOT / PACKAGE], root.parent.name, *builds_of_ours)
    place = builds.directory() / "images" / key
    if place.is_dir():
        return place
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=place.parent, prefix=".") as name:
            scratch, whole = Path(name), Path(name) / key
            make(scratch)
            whole.mkdir(mode=0o755)
            (scratch / FILE).rename(whole / FILE)
            if not place.is_dir():  # another one was faster
                whole.rename(place)
    except (OSError, SandglassError):  # who runs something in the lab is told why
        return place if place.is_dir() else None
    _forget(place.parent)
    return place


def _forget(images: Path) -> None:
    """Remove all but the newest."""
    with contextlib.suppress(OSError):
        there = [path for path in images.iterdir() if not path.name.startswith(".")]
        there.sort(key=lambda path: path.stat().st_mtime_ns, reverse=True)
        for path in there[KEPT:]:
            shutil.rmtree(path, ignore_errors=True)
