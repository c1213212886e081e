"""The figure and the table of noise are what its script makes today."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from sandglass.install import builds


@pytest.mark.lab
def test_the_table_is_what_the_runs_give(tmp_path: Path) -> None:
    folder = tmp_path / "docs"
    folder.mkdir()
    (tmp_path / "examples").symlink_to(builds.ROOT / "examples")
    (folder / "noise.py").write_text((builds.ROOT / "docs" / "noise.py").read_text())
    done = subprocess.run(
        [sys.executable, folder / "noise.py"],
        env=os.environ | {"PYTHONPATH": f"{builds.ROOT / 'src'}:{builds.ROOT}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    described = (builds.ROOT / "docs" / "experiment.md").read_text()
    rows = done.stdout.splitlines()
    assert len(rows) == 6
    assert [row for row in rows if row not in described] == []
    assert (folder / "noise.svg").stat().st_size > 10_000
