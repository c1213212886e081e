"""docs/l4s.md: its commands work, and its tables are what they give."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from pipelines.dualq import capture
from sandglass.install import builds
from sandglass.results import series

DOCS = builds.ROOT / "docs"
TEXT = (DOCS / "l4s.md").read_text()
COMMANDS = re.findall(r"^\./sandglass .*$", TEXT, re.M)


@pytest.mark.lab
@pytest.mark.newer
@pytest.mark.usefixtures("newer_kernel")
def test_what_two_ends_agree_on_is_as_the_page_says() -> None:
    command = [sys.executable, str(DOCS / "accecn.py")]
    said = subprocess.run(command, cwd=builds.ROOT, capture_output=True, text=True, check=True)
    assert said.stdout.strip() in (DOCS / "l4s.md").read_text()


@pytest.mark.lab
@pytest.mark.newer
def test_five_minutes(clone: Path) -> None:
    """The study and the paper have tests of their own: here they are only looked at."""
    for command in COMMANDS:
        looked_at = command.replace(" study ", " check ").replace(
            "reproduce dualq --profile quick", "list papers dualq"
        )
        subprocess.run(looked_at, shell=True, cwd=clone, check=True, stdout=subprocess.DEVNULL)
    run = series.load(clone / "results" / "runs" / "l4s", {})
    found = capture.statistics(run, 0)
    for name, digits in (("tput_l_mbit", 1), ("qdelay_c_mean_ms", 1), ("mark_l_pct", 1)):
        assert f" {found[name]:.{digits}f} " in TEXT
    assert 0.67 < run.field("flows.0.goodput_mbit") / run.field("flows.1.goodput_mbit") < 1.5
