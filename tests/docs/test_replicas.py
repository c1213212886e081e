"""The table of doubled replicas in statistics.md is what its script makes of the reference."""

import pytest

from sandglass.install import builds
from tests.documents import printed


@pytest.mark.thorough
def test_the_table_is_what_the_reference_gives() -> None:
    lines = printed(builds.ROOT / "docs" / "replicas.py")
    described = (builds.ROOT / "docs" / "statistics.md").read_text()
    rows = [row for row in lines if row.startswith("|")]
    assert len(rows) > 1
    assert [row for row in rows if row not in described] == []
