"""The image out of which a lab's Python takes the code of our modules (agent/boot.py).

There is one for each root of programs and each state of our code, in the cache, below images/.
"""

import contextlib
import tempfile
from collections.abc import Callable
from pathlib import Path

from sandglass.errors import SandglassError
from sandglass.install import builds

PROGRAM = "src/sandglass/agent/imaging.py"
FILE = "python"
COPY = ".image"
"""What a lab finds it as, in the run's directory (agent/boot.py)."""
FOLDERS = ("src/sandglass/agent", "topologies", "workloads")
PACKAGE = "src/sandglass/__init__.py"
KEPT = 8
"""How many stay when another one is made."""


def found(root: Path, make: Callable[[Path], object]) -> Path | None:
    """The image for a root; None where nothing can be kept, or none can be made.

    `make` is to put it into a directory, when it is not there.
    """
    builds_of_ours = map(builds.folder_build, FOLDERS)
    key = builds.fingerprint([builds.ROOT / PACKAGE], root.parent.name, *builds_of_ours)
    place = builds.directory() / "images" / key
    if place.is_file():
        return place
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=place.parent, prefix=".") as name:
            scratch = Path(name)
            make(scratch)
            (scratch / FILE).chmod(0o644)
            (scratch / FILE).rename(place)
    except (OSError, SandglassError):  # who runs something in the lab is told why
        return None
    _forget(place.parent)
    return place


def _forget(images: Path) -> None:
    """Remove all but the newest."""
    with contextlib.suppress(OSError):
        there = [path for path in images.iterdir() if not path.name.startswith(".")]
        there.sort(key=lambda path: path.stat().st_mtime_ns, reverse=True)
        for path in there[KEPT:]:
            path.unlink()
