"""What the scripts beside the documents print."""

import os
import subprocess
import sys
from pathlib import Path

from sandglass.install import builds


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
