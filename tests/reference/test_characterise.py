"""The commands of docs/characterise.md give the numbers of the references."""

import subprocess
from pathlib import Path

import polars as pl
import pytest

from sandglass.install.builds import ROOT
from sandglass.suites import reference
from tests.docs.test_characterise import COMMANDS
from tests.suites.references import KEY, values, with_kernels

SHORTEST = {"qdisc": "5.3a", "cc": "collapse"}
"""Scenarios that cost least, by suites."""


@pytest.mark.lab
@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_works(command: str, tmp_path: Path) -> None:
    """Of one that runs all scenarios, the shortest. Its numbers are those of the references."""
    words = [*command.split(), "--out", str(tmp_path / "out")]
    words += [] if "--only" in words else ["--only", SHORTEST[words[2]]]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "better" in (tmp_path / "out" / "index.html").read_text()
    known = values(words[2])
    _, made = reference.of_report(tmp_path / "out")
    both = with_kernels(made["means"], made["origins"]).join(known, on=KEY)
    assert both.height > 5
    assert both.filter(~pl.col("means").list.contains(pl.col("mean"))).is_empty()
