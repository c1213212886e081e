"""The commands of docs/quic.md work as they stand there."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from sandglass.install.builds import ROOT

TEXT = (ROOT / "docs" / "quic.md").read_text()
COMMANDS = re.findall(r"^\./sandglass .*$", TEXT, re.M)


@pytest.mark.lab
@pytest.mark.thorough
@pytest.mark.skipif(not shutil.which("go"), reason="there is no Go here")
def test_each_command(clone: Path) -> None:
    assert COMMANDS
    for command in COMMANDS:
        subprocess.run(command, shell=True, cwd=clone, check=True, stdout=subprocess.DEVNULL)
    assert (clone / "results" / "runs" / "quic" / "qlog.parquet").is_file()


def test_each_example_is_in_the_table() -> None:
    rows = re.findall(r"^\| ([\w-]+) \| (?:CoDel|1 BDP) \|", TEXT, re.M)
    stacks = {path.stem for path in (ROOT / "examples" / "quic").glob("*.yaml")} - {"path"}
    assert {*rows} == stacks
