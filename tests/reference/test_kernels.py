"""The tables of docs/kernels.md are what its script makes today."""

import pytest

from sandglass.install import builds, setup_lab
from tests.documents import printed

DOCS = builds.ROOT / "docs"


@pytest.mark.lab
def test_the_tables_are_what_the_runs_give() -> None:
    setup_lab.lab("7.2")
    lines = printed(DOCS / "kernels.py")
    described = (DOCS / "kernels.md").read_text()
    rows = [row for row in lines if row.startswith("| ")]
    assert len(rows) == 2 * 8
    assert [row for row in rows if row not in described] == []
