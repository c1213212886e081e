"""Looks around in a lab: python3 look.py DIRECTORY, with host.json, paths of the host, in it.

seen.json gets what is there.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

home = Path(sys.argv[1])
mounts = [line.split() for line in Path("/proc/mounts").read_text().splitlines()]
ours = sorted(where for _, where, kind, *_ in mounts if kind == "hostfs")


def writable(directory: str) -> bool:
    try:
        (Path(directory) / "tried").touch()
    except OSError:
        return False
    return True


own = {path.name for path in Path("/").iterdir()}
(home / "seen.json").write_text(
    json.dumps(
        {
            "release": Path("/etc/debian_version").read_text(),
            "python": Path(os.path.realpath("/usr/bin/python3")).name,
            "entries": sorted(own),
            "visible": [
                path
                for path in json.loads((home / "host.json").read_text())
                if Path(path).exists() and Path(path).name not in own
            ],
            "mounts_of_the_host": ours,
            "writable": list(filter(writable, ours)),
        }
    )
)
