"""The reports of results/reference/suites, and the page that is made of them."""

import json
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from sandglass.install.builds import ROOT
from sandglass.suites import suite
from sandglass.suites.report import JSON
from tests.suites.references import REFERENCE, values

NAMES = {
    "qdisc": ["cake", "codel", "dualpi2", "fq_codel", "hred", "pfifo", "pie", "predict"],
    "cc": ["abe_cubic", "bbr", "cubic", "dctcp", "lsaimd_reno", "prague", "reno"],
}
PAGE = ROOT / "docs" / "suites.md"


@pytest.mark.parametrize("kind", NAMES)
def test_every_report_is_whole(kind: str) -> None:
    assert sorted(path.name for path in (REFERENCE / kind).iterdir()) == NAMES[kind]
    scenarios = [each.name for each in suite.read(suite.SUITES / kind).described.scenarios]
    for name in NAMES[kind]:
        told = json.loads((REFERENCE / kind / name / JSON).read_text())
        assert (told["name"], told["profile"]) == (name, "quick")
        assert [each["name"] for each in told["scenarios"]] == scenarios
        assert all(len(each["origin"]["digest"]) == 64 for each in told["scenarios"])


@pytest.mark.parametrize("kind", NAMES)
def test_a_contender_is_the_same_in_all_reports(kind: str) -> None:
    """Runs are exact, so the one that is compared with all has the same numbers beside each."""
    seen = values(kind)
    assert max(seen["reports"].to_list()) > 3
    assert seen.filter(pl.col("means").list.len() > 1).is_empty()


def test_the_page_is_of_the_reports() -> None:
    made = subprocess.run(
        [sys.executable, Path("docs") / "suites.py"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    page = PAGE.read_text()
    assert [table for table in made.stdout.strip().split("\n\n") if table not in page] == []
    assert made.stdout.count("|---|") == 2
