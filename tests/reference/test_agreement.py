"""The figures and the tables of agreement.md are what its script makes today."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from sandglass.install import builds


@pytest.mark.lab
def test_the_tables_are_what_the_runs_give(tmp_path: Path) -> None:
    (tmp_path / "agreement.py").write_text((builds.ROOT / "docs" / "agreement.py").read_text())
    done = subprocess.run(
        [sys.executable, tmp_path / "agreement.py"],
        env=os.environ | {"PYTHONPATH": f"{builds.ROOT / 'src'}:{builds.ROOT}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    described = (builds.ROOT / "docs" / "agreement.md").read_text()
    rows = [row for row in done.stdout.splitlines() if row.startswith("|")]
    assert len(rows) == 88
    assert [row for row in rows if row not in described] == []
    for figure in ("agreement", "agreement-ns3"):
        assert (tmp_path / f"{figure}.svg").stat().st_size > 10_000
