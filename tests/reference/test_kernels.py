"""The tables of docs/kernels.md are what its script makes today."""

import os
import subprocess
import sys

import pytest

from sandglass.install import builds, setup_lab

DOCS = builds.ROOT / "docs"


@pytest.mark.lab
def test_the_tables_are_what_the_runs_give() -> None:
    setup_lab.lab("7.2")
    done = subprocess.run(
        [sys.executable, DOCS / "kernels.py"],
        env=os.environ | {"PYTHONPATH": f"{builds.ROOT / 'src'}:{builds.ROOT}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    described = (DOCS / "kernels.md").read_text()
    rows = [row for row in done.stdout.splitlines() if row.startswith("| ")]
    assert len(rows) == 2 * 8
    assert [row for row in rows if row not in described] == []
