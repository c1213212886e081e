"""The Vagrantfile, as Vagrant reads it; what it provisions with is tested in tests/vm."""

import os
import subprocess
from pathlib import Path

import pytest

from sandglass.install import builds

NEEDS_ROOT = 2


def test_vagrant_finds_it_valid(tmp_path: Path) -> None:
    packages = subprocess.run(
        [builds.ROOT / "setup" / "packages", "vagrant"], capture_output=True, text=True, check=False
    )
    if packages.returncode == NEEDS_ROOT:
        pytest.skip(packages.stderr)
    assert packages.returncode == 0, packages.stderr
    own = {
        "VAGRANT_HOME": str(tmp_path / "home"),
        "VAGRANT_DOTFILE_PATH": str(tmp_path / "machine"),
    }
    done = subprocess.run(
        # without VirtualBox or libvirt here
        ["vagrant", "validate", "--ignore-provider"],
        cwd=builds.ROOT,
        env=os.environ | own,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
