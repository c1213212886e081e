"""The memory of labs: how much there is, and whether it may be mapped as code."""

import mmap
import os
import re
from pathlib import Path

from sandglass.cage import system_calls as system

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


def executable() -> bool:
    """Whether a lab's memory may be had, which is in no directory and is mapped as code too."""
    try:
        # a Python for any glibc has no os.memfd_create
        file = system.call(system.SYS_MEMFD_CREATE, b"sandglass", system.MFD_CLOEXEC)
        try:
            os.truncate(file, mmap.PAGESIZE)
            access = mmap.PROT_READ | mmap.PROT_EXEC
            mmap.mmap(file, mmap.PAGESIZE, mmap.MAP_SHARED, access).close()
        finally:
            os.close(file)
    except OSError:
        return False
    return True
