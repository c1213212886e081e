"""Labs are booted here: some seconds for each file of tests."""

import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from sandglass.install import builds, setup_lab
from tests.conftest import one_at_a_time
from tests.lab.experiments import Lab, Run, run

Cli = Callable[..., subprocess.CompletedProcess[str]]
NEWER = "7.2"
"""The kernel with what Linux 6.12 does not have yet."""
# What a run needs of a checkout.
PARTS = ("src", "workloads", "topologies", "kernel", "kmods", "setup")


@pytest.fixture(scope="session")
def lab(shared: Path) -> Lab:
    """Runs an experiment, or hands out the run of the same one made before."""

    def once(experiment: Mapping[str, Any], seed: int | None = None) -> Run:
        key = hashlib.sha256(json.dumps([experiment, seed]).encode()).hexdigest()[:16]
        home = shared / f"lab-{key}"
        home.mkdir(exist_ok=True)
        with one_at_a_time(home / "lock"):
            if not (home / "run" / "run.json").exists():
                return run(experiment, home, seed)
        return Run(home / "run", json.loads((home / "run" / "run.json").read_text()))

    return once


@pytest.fixture
def newer_kernel(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Labs have this kernel here; it is built first where it is not."""
    assert request.node.get_closest_marker("newer"), "it is marked, so that it can be left out"
    monkeypatch.setenv("SANDGLASS_KERNEL", NEWER)
    setup_lab.lab()
    return NEWER


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
