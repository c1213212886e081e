"""What is kept of suites' reports, and the page that is made of it."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from sandglass.errors import SandglassError, UsageError
from sandglass.install.builds import ROOT
from sandglass.suites import reference, suite
from sandglass.suites.report import JSON, MEANS_CSV
from tests.suites.references import values

NAMES = {
    "qdisc": ["cake", "codel", "dualpi2", "fq_codel", "hred", "pfifo", "pie", "predict"],
    "cc": ["abe_cubic", "bbr", "cubic", "dctcp", "lsaimd_reno", "prague", "reno"],
}
PAGE = ROOT / "docs" / "suites.md"


@pytest.mark.parametrize("kind", NAMES)
def test_every_report_is_whole(kind: str) -> None:
    scenarios = [each.name for each in suite.read(suite.SUITES / kind).described.scenarios]
    origins = reference.read(kind, "origins")
    assert {*origins["profile"]} == {suite.QUICK}
    assert {*origins["digest"].str.len_chars()} == {64}
    assert origins.select("report", "scenario").rows() == [
        (name, scenario) for name in NAMES[kind] for scenario in scenarios
    ]
    for table in ("means", "words"):
        assert [*reference.read(kind, table)["report"].unique(maintain_order=True)] == NAMES[kind]


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


def report(home: Path, name: str, profile: str = "quick", but: str = "") -> Path:
    """The files of a report of all scenarios, with a mean and a word."""
    scenarios = [each.name for each in suite.read(suite.SUITES / "cc").described.scenarios]
    about = {
        **{"kernel_release": "6.12.1-sandglass", "kernel_build": "a", "modules": {"m": "b"}},
        **{"lab_build": "c", "commits": ["d"], "seeds": [1], "runs": 1, "durations": ["1s"]},
        **{"digest": "e" * 64, "virtual_s": 1.0, "wall_s": 0.5},
    }
    told = {
        "suite": {"subject": "cc"},
        "profile": profile,
        "name": name,
        "scenarios": [
            {"name": each, "origin": None if each == but else about} for each in scenarios
        ],
        "words": [
            {"scenario": "single", "point": "", "metric": "goodput", "against": "Reno"}
            | {"margins": 0.123456789, "p": 0.01, "p_holm": 0.5, "word": "likely equal"}
        ],
    }
    (home / name).mkdir()
    (home / name / JSON).write_text(json.dumps(told))
    (home / name / MEANS_CSV).write_text(
        "scenario,label,point,metric,n,mean,sd,median,low,high\n"
        "single,Reno,,goodput,3,1.23456789,0.5,1.2,,\n"
    )
    return home / name


def test_a_report_takes_the_place_of_the_one_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = tmp_path / "kept"
    monkeypatch.setattr(reference, "REFERENCE", kept)
    shutil.copytree(ROOT / "results" / "reference" / "suites", kept)
    before = reference.read("cc", "means")
    reference.renew([report(tmp_path, "reno"), report(tmp_path, "another")])
    after = reference.read("cc", "means")
    assert [*after["report"].unique(maintain_order=True)] == sorted([*NAMES["cc"], "another"])
    assert after.filter(report="bbr").equals(before.filter(report="bbr"))
    assert after.filter(report="reno").rows() == [
        ("reno", "single", "Reno", "", "goodput", 3, 1.23457, None, None)
    ]
    assert reference.read("cc", "words").filter(report="another")["margins"].to_list() == [0.123457]
    assert reference.read("cc", "origins").filter(report="another")["modules"][0] == "m:b"
    files = {path: path.read_bytes() for path in kept.rglob("*.parquet")}
    reference.renew([tmp_path / "reno"])
    assert {path: path.read_bytes() for path in kept.rglob("*.parquet")} == files


def test_what_is_no_whole_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reference, "REFERENCE", tmp_path / "kept")
    whole = report(tmp_path, "reno")
    with pytest.raises(UsageError, match="cubic is of the profile full, and not quick"):
        reference.renew([whole, report(tmp_path, "cubic", profile="full")])
    with pytest.raises(UsageError, match="bbr lacks the scenario ecn"):
        reference.renew([whole, report(tmp_path, "bbr", but="ecn")])
    with pytest.raises(SandglassError, match=r"has no report\.json"):
        reference.renew([whole, tmp_path])
    assert not reference.REFERENCE.exists()
