"""Set up what experiments need beyond packages and Python: the lab kernel, netperf and nginx."""

import importlib.metadata
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from sandglass.errors import SandglassError
from sandglass.install import builds, debian


def packages() -> None:
    """Install missing Debian packages; the script has said what went wrong when it fails."""
    run(builds.ROOT / "setup" / "packages")


def lab() -> None:
    """Make sure that an experiment can run; does nothing, quickly, when all is there."""
    programs()
    try:
        builds.lab_kernel()
    except SandglassError:
        kernel(builds.chosen_kernel())


def kernel(name: str) -> None:
    """Build the lab kernel; a script has said what went wrong when it fails."""
    run(builds.ROOT / "setup" / "packages", "packages-build.txt")
    run(sys.executable, builds.ROOT / "kernel" / "build", "--source-version", name)


def debugger() -> None:
    """Install gdb if it is missing."""
    run(builds.ROOT / "setup" / "packages", "gdb")


def executors() -> None:
    """Add Snakemake's executors for clusters to the Python environment."""
    add_locked("requirements-cluster.lock")


def linters_and_tests() -> None:
    """Add what the tests need to the Python environment."""
    add_locked("requirements-dev.lock")


def add_locked(lock: str) -> None:
    """Add the packages of a lock file to the Python environment, those that are not there yet."""
    if not differing(lock):
        return
    print(f"sandglass: adding the Python packages of {lock}", flush=True)
    options = ("--no-input", "--disable-pip-version-check", "--quiet", "--no-deps")
    hashed = ("--require-hashes", "--requirement", builds.ROOT / lock)
    run(sys.executable, "-m", "pip", "install", *options, *hashed)


def differing(lock: str) -> list[str]:
    """The packages of a lock file that the Python environment has not, or not in this version."""
    text = (builds.ROOT / lock).read_text()
    wanted = re.findall(r"^([^#\s=]+)==(\S+)", text, re.M)
    return [name for name, version in wanted if python_version(name) != version]


def python_version(name: str) -> str | None:
    """A Python package's version in the environment."""
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def run(*command: str | Path) -> None:
    """Run a step of set-up; when it fails, this process ends with its status."""
    done = subprocess.run(command, check=False)
    if done.returncode:
        raise SystemExit(done.returncode)


def programs() -> None:
    """Unpack netperf and nginx into the cache unless the host has them.

    Not installed as packages: both start a daemon, and bookworm keeps netperf in non-free.
    """
    if all(shutil.which(name, path=builds.search_path()) for name in builds.UNPACKED):
        return
    with tempfile.TemporaryDirectory(dir=builds.directory()) as scratch:
        unpacked = Path(scratch) / "programs"
        for name in builds.UNPACKED:
            debian.unpack(debian.fetch(name), unpacked)
        # The lab searches one directory of what is unpacked.
        (unpacked / "usr" / "bin" / "nginx").symlink_to("../sbin/nginx")
        target = builds.directory() / "programs"
        if target.exists():
            shutil.rmtree(target)
        unpacked.rename(target)
