"""docs/afternoon.md: who writes its files and gives its commands has a verdict."""

import re
import subprocess
from pathlib import Path

import polars as pl
import pytest

from sandglass.install import builds
from sandglass.papers import claims, grid
from tests.conftest import copy_checkout

PAGE = (builds.ROOT / "docs" / "afternoon.md").read_text()
BLOCK = re.compile(r"^([^\n]*)\n\n```(\w*)\n(.*?)^```$", re.M | re.S)
"""A fenced block, with what stands before it: the file's name, for a file."""
FILES = {before.split("`")[1]: text for before, kind, text in BLOCK.findall(PAGE) if kind}
COMMANDS = [text for _, kind, text in BLOCK.findall(PAGE) if not kind]


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    made = copy_checkout(tmp_path / "checkout")
    for name, text in FILES.items():
        path = made / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return made


def test_the_page_shows_all_files() -> None:
    assert [*FILES] == [
        *("mine/experiments/loss.yaml", "mine/paper.yaml", "mine/loss.yaml", "mine/loss.py")
    ]
    assert COMMANDS[0] == "mkdir -p mine/experiments\n"
    assert len(COMMANDS) == 4


def test_a_look_judges_all_claims(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SANDGLASS_PAPERS", str(checkout / "mine"))
    assert len(grid.points("mine", "loss", "quick")) == 10
    found = claims.claims("mine", "loss")
    assert [each.id for each in found] == re.findall(r"- id: (\S+)", PAGE)
    assert all("quick" in each.profiles for each in found)


@pytest.mark.lab
def test_its_commands(checkout: Path) -> None:
    """All but the look, which takes ten runs of a minute."""
    for command in COMMANDS[1:3]:
        done = subprocess.run(
            ["bash", "-c", command], cwd=checkout, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
    table = pl.read_csv(checkout / "results/mine/loss.csv")
    assert table["goodput_mbit"].item() > 50
    assert (checkout / "results/mine/loss.html").is_file()
