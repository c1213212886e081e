"""The commands of docs/export.md work as they stand there, on a run that is called as there."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from sandglass.experiment import reading
from sandglass.install.builds import ROOT
from sandglass.run import runs

pytestmark = pytest.mark.lab
FENCED = re.findall(r"^```\n(.*?)^```$", (ROOT / "docs" / "export.md").read_text(), re.S | re.M)
LINES = [line for block in FENCED for line in block.splitlines()]
OURS = [line for line in LINES if line.startswith("./sandglass ")]
THEIRS = [line for line in LINES if line.startswith("tshark ")]


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the run is that the page speaks of, and what `export` made of it."""
    place = tmp_path_factory.mktemp("export")
    file = ROOT / "examples" / "codel.yaml"
    short = ["duration=5s", "flows.0.duration=5s"]
    runs.run(reading.load(file, short), file, place / "results" / "runs" / "first")
    (place / "examples").symlink_to(ROOT / "examples")
    for line in OURS:
        command = line.replace("./sandglass", str(ROOT / "sandglass"))
        command = command.replace(" --out ", f" --set {' --set '.join(short)} --out ")
        subprocess.run(command, shell=True, cwd=place, check=True)
    return place


def test_every_command_is_tried() -> None:
    shown = {line.split()[0] for line in LINES}
    assert shown == {"./sandglass", "wireshark", "tshark", "flent"}


def test_export_leaves_what_it_says(directory: Path) -> None:
    for name in ("first.pcapng", "first-tables/packets.csv", "first.flent.gz", "headers.pcapng"):
        assert (directory / name).stat().st_size > 0


@pytest.mark.skipif(not shutil.which("tshark"), reason="Debian's tshark is missing")
@pytest.mark.parametrize("line", THEIRS)
def test_tshark_does_what_is_shown(directory: Path, line: str) -> None:
    subprocess.run(line, shell=True, cwd=directory, check=True)
