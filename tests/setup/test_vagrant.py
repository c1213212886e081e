"""The Vagrantfile, as Vagrant reads it; tests/vagrant has it make a machine."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from sandglass.install import builds


@pytest.mark.skipif(not shutil.which("vagrant"), reason="setup/packages vagrant installs it")
def test_vagrant_finds_it_valid(tmp_path: Path) -> None:
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
