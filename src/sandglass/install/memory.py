"""The memory of labs: how much there is, and where its file lies, which is mapped as code too."""

import mmap
import os
import re
import tempfile
from pathlib import Path

from sandglass.errors import SandglassError
from sandglass.install import builds

MEMINFO = Path("/proc/meminfo")
LIMITS = (
    Path("/sys/fs/cgroup/memory.max"),
    Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"),
)
"""What a container may take, in bytes; of cgroups of version 2 and 1."""


def available_mb() -> int:
    """What programs may take without swapping, in MB; in a container at most its limit."""
    found = re.search(r"^MemAvailable:\s+(\d+) kB", MEMINFO.read_text(), re.M)
    limits = (path.read_text().strip() for path in LIMITS if path.is_file())
    free = [int(limit) // 2**20 for limit in limits if limit.isdecimal()]  # else it says max
    return min([int(found[1]) // 1024 if found else 0, *free])


def directory() -> Path:
    """$TMPDIR, else a mount in memory if possible, and never one that allows no execution.

    Raises SandglassError when no directory will do.
    """
    own = os.environ.get("TMPDIR")
    places = [*([Path(own)] if own else []), *map(Path, ("/dev/shm", "/tmp", "/var/tmp"))]
    for place in [*places, builds.directory()]:
        if executable(place):
            return place
    raise SandglassError(
        f"no directory for a lab's memory: none of {', '.join(map(str, places))} "
        "can be written to and allows execution",
        "Set TMPDIR to a directory that does.",
    )


def executable(place: Path) -> bool:
    """Whether a file can be made there and mapped as code."""
    try:
        with tempfile.TemporaryFile(dir=place) as file:
            file.truncate(mmap.PAGESIZE)
            access = mmap.PROT_READ | mmap.PROT_EXEC
            mmap.mmap(file.fileno(), mmap.PAGESIZE, mmap.MAP_SHARED, access).close()
    except OSError:
        return False
    return True
