"""What the documents show: edits, and what the scripts beside them print."""

import os
import subprocess
import sys
from pathlib import Path

from sandglass.install import builds


def edited(source: str, difference: str) -> str:
    """A source after the edit that a block shows."""
    lines = difference.splitlines(keepends=True)
    old = "".join(line[1:] for line in lines if line[0] in " -")
    new = "".join(line[1:] for line in lines if line[0] in " +")
    assert source.count(old) == 1, old
    return source.replace(old, new)


def printed(script: Path) -> list[str]:
    """The lines that a script prints, which has to succeed."""
    done = subprocess.run(
        [sys.executable, script],
        env=os.environ | {"PYTHONPATH": f"{builds.ROOT / 'src'}:{builds.ROOT}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()
