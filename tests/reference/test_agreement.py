"""The figures and the tables of agreement.md are what its script makes today."""

from pathlib import Path

import pytest

from sandglass.install import builds
from tests.documents import printed


@pytest.mark.lab
def test_the_tables_are_what_the_runs_give(tmp_path: Path) -> None:
    (tmp_path / "agreement.py").write_text((builds.ROOT / "docs" / "agreement.py").read_text())
    lines = printed(tmp_path / "agreement.py")
    described = (builds.ROOT / "docs" / "agreement.md").read_text()
    rows = [row for row in lines if row.startswith("|")]
    assert len(rows) == 88
    assert [row for row in rows if row not in described] == []
    for figure in ("agreement", "agreement-ns3"):
        assert (tmp_path / f"{figure}.svg").stat().st_size > 10_000
