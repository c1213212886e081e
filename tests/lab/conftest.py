"""Labs are booted here: some seconds for each file of tests."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from sandglass.install import builds
from tests.lab.experiments import Lab, Run, run

Cli = Callable[..., subprocess.CompletedProcess[str]]
# What a run needs of a checkout.
PARTS = ("src", "workloads", "topologies", "kernel", "kmods", "setup")


@pytest.fixture(scope="session")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Lab:
    """Runs an experiment, or hands out the run of the same one made before."""
    finished: dict[str, Run] = {}

    def once(experiment: Mapping[str, Any], seed: int | None = None) -> Run:
        key = json.dumps([experiment, seed])
        if key not in finished:
            finished[key] = run(experiment, tmp_path_factory.mktemp("lab"), seed)
        return finished[key]

    return once


def command(root: Path, *words: object) -> list[str]:
    """The command line of a checkout, as the script `sandglass` starts it."""
    start = f"import sys; sys.path.insert(0, {str(root / 'src')!r}); import sandglass.cli as cli"
    return [sys.executable, "-P", "-c", f"{start}; cli.main()", *map(str, words)]


@pytest.fixture
def sandglass(tmp_path: Path) -> Cli:
    """Runs the command line, of this checkout unless told otherwise, in an empty directory."""

    def call(
        *words: object, root: Path = builds.ROOT, **environment: str
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command(root, *words),
            cwd=tmp_path,
            env=os.environ | environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )

    return call


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A copy of what a run needs of this checkout, to be changed, or only to be another."""
    copy = tmp_path / "checkout"
    for part in PARTS:
        shutil.copytree(
            builds.ROOT / part, copy / part, ignore=shutil.ignore_patterns("__pycache__")
        )
    shutil.copy(builds.ROOT / "requirements.lock", copy)
    return copy
