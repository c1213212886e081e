"""The commands of docs/studies.md work, and the studies of examples/ are some."""

import re
import subprocess
from pathlib import Path

import pytest

from sandglass.install.builds import ROOT
from sandglass.studies import reading

DOCUMENT = (ROOT / "docs" / "studies.md").read_text()
COMMANDS = re.findall(r"^\./sandglass study .*$", DOCUMENT, re.MULTILINE)
EXAMPLES = sorted((ROOT / "examples" / "studies").glob("*.yaml"))


@pytest.mark.thorough
@pytest.mark.lab
@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_works(command: str, tmp_path: Path) -> None:
    words = f"{command} --out {tmp_path / 'out'}".split()
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "fails" not in done.stdout
    assert (tmp_path / "out" / "index.html").stat().st_size


def test_there_are_commands() -> None:
    assert len(COMMANDS) == 2


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_is_a_study_and_is_listed(path: Path) -> None:
    assert len(reading.load(path).runs()) <= 80
    assert f"../examples/studies/{path.name}" in DOCUMENT
