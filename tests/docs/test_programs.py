"""The commands of docs/programs.md work as they stand there, and its example shows what it says."""

import json
import re
import subprocess
from pathlib import Path

import polars as pl
import pytest

from sandglass.install.builds import ROOT

TEXT = (ROOT / "docs" / "programs.md").read_text()
COMMANDS = re.findall(r"^\./sandglass .*$", TEXT, re.M)


@pytest.mark.lab
def test_a_program_of_python_shares_the_link_and_tells_its_window(clone: Path) -> None:
    for command in COMMANDS:
        subprocess.run(command, shell=True, cwd=clone, check=True, stdout=subprocess.DEVNULL)
    run = clone / "results" / "runs" / "own"
    told = pl.read_parquet(run / "series.parquet")
    assert {*told["name"]} == {"cwnd", "rtt.ms"}
    assert told.filter(pl.col("name") == "rtt.ms", pl.col("value") <= 40).is_empty()
    content = json.loads((run / "run.json").read_text())
    assert {*content["own_files"]} == {
        f"program/{name}.py" for name in ("aimd", "receiver", "sender")
    }
    assert content["bottleneck"]["utilisation"] > 0.9
    assert "aimd: cwnd" in (run / "view.html").read_text()
