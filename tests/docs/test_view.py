"""The commands of docs/view.md work as they stand there."""

import re
import subprocess
from pathlib import Path

import pytest

from sandglass.install.builds import ROOT

TEXT = (ROOT / "docs" / "view.md").read_text()
COMMANDS = [
    line
    for block in re.findall(r"^```\n(.*?)^```$", TEXT, re.S | re.M)
    for line in block.splitlines()
]


@pytest.mark.lab
def test_its_commands_make_pages(clone: Path) -> None:
    for command in COMMANDS:
        subprocess.run(command, shell=True, cwd=clone, check=True, stdout=subprocess.DEVNULL)
    for page in ("results/runs/one-flow/view.html", "results/two-queues.html"):
        assert (clone / page).read_text().startswith("<!DOCTYPE html>")
        assert page in TEXT
