"""The table of doubled replicas in statistics.md is what its script makes of the reference."""

import os
import subprocess
import sys

from sandglass.install import builds


def test_the_table_is_what_the_reference_gives() -> None:
    done = subprocess.run(
        [sys.executable, builds.ROOT / "docs" / "replicas.py"],
        env=os.environ | {"PYTHONPATH": f"{builds.ROOT / 'src'}:{builds.ROOT}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    described = (builds.ROOT / "docs" / "statistics.md").read_text()
    rows = [row for row in done.stdout.splitlines() if row.startswith("|")]
    assert len(rows) > 1
    assert [row for row in rows if row not in described] == []
