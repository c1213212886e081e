"""docs/experiment.md: the commands to begin with work as they stand there."""

import re
import subprocess
from pathlib import Path

import pytest

from sandglass.install.builds import ROOT

PAGE = (ROOT / "docs" / "experiment.md").read_text()
SECTION = PAGE.split("## Begin, and look before you run")[1].split("\n## ")[0]
COMMANDS = re.findall(r"^\./sandglass .*$", SECTION, re.M)


@pytest.mark.lab
def test_begin_and_look(clone: Path) -> None:
    assert COMMANDS[0] == "./sandglass new mine.yaml --from codel"
    for command in COMMANDS:
        done = subprocess.run(
            command, shell=True, cwd=clone, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
    assert (clone / "mine.yaml").is_file()
