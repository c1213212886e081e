"""Set up what experiments need beyond packages and Python: the lab kernel, netperf and nginx."""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from sandglass import cache, debian
from sandglass.errors import SandglassError


def packages() -> None:
    """Install missing Debian packages; the script has said what went wrong when it fails."""
    run(cache.ROOT / "setup" / "packages")


def lab() -> None:
    """Make sure that an experiment can run; does nothing, quickly, when all is there."""
    programs()
    try:
        cache.lab_kernel()
    except SandglassError:
        kernel(cache.series())


def kernel(series: str) -> None:
    """Build the lab kernel; its script has said what went wrong when it fails."""
    run(sys.executable, cache.ROOT / "kernel" / "build", "--source-version", series)


def executors() -> None:
    """Add Snakemake's executors for clusters to the Python environment."""
    wanted = cache.ROOT / "requirements-cluster.lock"
    options = ("--no-input", "--disable-pip-version-check", "--no-deps", "--quiet")
    run(sys.executable, "-m", "pip", "install", *options, "--requirement", wanted)


def run(*command: str | Path) -> None:
    """Run a step of set-up; when it fails, this process ends with its status."""
    done = subprocess.run(command, check=False)
    if done.returncode:
        raise SystemExit(done.returncode)


def programs() -> None:
    """Unpack netperf and nginx into the cache unless the host has them.

    Not installed as packages: both start a daemon, and bookworm keeps netperf in non-free.
    """
    if all(shutil.which(name, path=cache.search_path()) for name in cache.UNPACKED):
        return
    with tempfile.TemporaryDirectory(dir=cache.directory()) as scratch:
        unpacked = Path(scratch) / "programs"
        for name in cache.UNPACKED:
            debian.unpack(debian.fetch(name), unpacked)
        # The lab searches one directory of what is unpacked.
        (unpacked / "usr" / "bin" / "nginx").symlink_to("../sbin/nginx")
        target = cache.directory() / "programs"
        if target.exists():
            shutil.rmtree(target)
        unpacked.rename(target)
