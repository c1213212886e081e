"""The image is built here, and its containers run, by the Docker engine of this machine."""

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from sandglass.install import builds

IMAGE = "sandglass"
USER = 1000  # of the image
UNPRIVILEGED = ("--cap-drop", "ALL", "--security-opt", "no-new-privileges")
TIMEOUT_S = 3600

Container = Callable[..., subprocess.CompletedProcess[str]]


def docker(*words: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["docker", *map(str, words)], capture_output=True, text=True, check=False, timeout=TIMEOUT_S
    )


def run_words(results: Path, *words: object, options: tuple[object, ...] = ()) -> list[object]:
    """Docker's words to run Sandglass with `results` mounted, with no privilege at all."""
    mount = ("--volume", f"{results}:/sandglass/results")
    return ["run", "--rm", *UNPRIVILEGED, *mount, *options, IMAGE, *words]


def build(root: Path) -> None:
    """The image of a checkout; what Docker has built of it is taken from its cache."""
    done = subprocess.run(
        [root / "container" / "build"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{done.stdout[-4000:]}\n{done.stderr[-2000:]}"


@pytest.fixture(scope="session", autouse=True)
def engine() -> None:
    """A Docker engine; nothing here is skipped without one."""
    if not shutil.which("docker") or docker("version").returncode:
        pytest.exit(
            "the container's tests need a running Docker engine: apt-get install docker.io"
            " debootstrap, then systemctl start docker, or dockerd where there is no systemd",
            returncode=1,
        )


@pytest.fixture(scope="session")
def image(engine: None) -> str:
    """The image of this checkout."""
    build(builds.ROOT)
    return IMAGE


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """An empty directory that any user of a container may write to."""
    path = tmp_path / "results"
    path.mkdir()
    path.chmod(0o777)
    return path


@pytest.fixture
def sandglass(image: str, results: Path) -> Container:
    """Runs the command line in a container."""

    def call(*words: object, options: tuple[object, ...] = ()) -> subprocess.CompletedProcess[str]:
        return docker(*run_words(results, *words, options=options))

    return call


@pytest.fixture
def outside(tmp_path: Path) -> Container:
    """Runs the command line on this machine."""

    def call(*words: object) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [builds.ROOT / "sandglass", *map(str, words)],
            cwd=tmp_path,
            env=os.environ,
            capture_output=True,
            text=True,
            check=False,
        )

    return call
