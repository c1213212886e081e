"""The figure and the table of noise are what its script makes today."""

from pathlib import Path

import pytest

from sandglass.install import builds
from tests.documents import printed


@pytest.mark.lab
def test_the_table_is_what_the_runs_give(tmp_path: Path) -> None:
    folder = tmp_path / "docs"
    folder.mkdir()
    (tmp_path / "examples").symlink_to(builds.ROOT / "examples")
    (folder / "noise.py").write_text((builds.ROOT / "docs" / "noise.py").read_text())
    rows = printed(folder / "noise.py")
    described = (builds.ROOT / "docs" / "experiment.md").read_text()
    assert len(rows) == 6
    assert [row for row in rows if row not in described] == []
    assert (folder / "noise.svg").stat().st_size > 10_000
