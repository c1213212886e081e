"""The command line, run as its users run it: as a process of its own."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from sandglass.install import builds

Cli = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def empty_cache(tmp_path: Path) -> Path:
    """A cache in which nothing is set up."""
    return tmp_path / "cache"


@pytest.fixture
def sandglass(tmp_path: Path, empty_cache: Path) -> Cli:
    """Runs the command line with an empty cache, from a directory that is not the repository."""

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-P", "-m", "sandglass", *words],
            cwd=tmp_path,
            env=os.environ
            | {"SANDGLASS_CACHE": str(empty_cache), "PYTHONPATH": str(builds.ROOT / "src")},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )

    return run
