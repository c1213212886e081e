"""The Python packages of a bundle: those of the locks, as files that pip installs offline."""

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from rich.progress import track

from sandglass.errors import SandglassError
from sandglass.install import builds
from sandglass.install.labs import TERMINAL

PYTHONS = ("3.11", "3.12", "3.13")
"""The versions of Python that all packages of the lock have wheels for."""
LOCKS = ("requirements.lock", "requirements-offline.lock")
GLIBC = (2, 28)
"""The oldest that all packages of the lock have wheels for (setup/lock); the lab needs none."""
# As PEP 600 names them, the best first, and the one older name that wheels bear alone.
PLATFORMS = [f"manylinux_2_{minor}_x86_64" for minor in range(GLIBC[1], 4, -1)]
PLATFORMS += ["manylinux2014_x86_64"]


def fetch(pythons: Sequence[str], target: Path) -> None:
    """Put the packages for these versions of Python into the directory `target`.

    Each file has a hash of the lock. Raises SandglassError, with pip's last words, when one cannot
    be had.
    """
    options = ["--quiet", "--no-input", "--disable-pip-version-check"]
    options += ["--no-deps", "--require-hashes", "--prefer-binary", "--implementation", "cp"]
    options += [f"--platform={platform}" for platform in PLATFORMS]
    options += [f"--requirement={builds.ROOT / lock}" for lock in LOCKS]
    for python in track(pythons, "Python packages", console=TERMINAL, transient=True):
        command = [sys.executable, "-m", "pip", "download", f"--dest={target}"]
        command += [f"--python-version={python}", *options]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise SandglassError(
                f"pip could not fetch the Python packages for Python {python}",
                "\n".join(done.stderr.splitlines()[-5:]),
            )
