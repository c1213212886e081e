"""What is kept of papers as their reference, and a smoke profile against it."""

import re
import shutil
import subprocess

import polars as pl
import pytest

from sandglass.install import builds
from sandglass.papers import across, reference, shelf
from sandglass.suites import reference as suites
from tests.conftest import Reproduced
from tests.pipeline.smoke import assert_as_it_was, departures, smoke_runs, unexplained

PAPERS = shelf.ours()


@pytest.fixture
def kept() -> pl.DataFrame:
    return smoke_runs("abe")


@pytest.mark.thorough
@pytest.mark.lab
def test_smoke_is_as_it_was(reproduced: Reproduced) -> None:
    """The paper whose smoke profile takes least; tests/reference has the others."""
    assert_as_it_was("ls_aimd", reproduced)


def test_a_claim_that_fails_needs_a_word() -> None:
    judged = reference.verdicts("abe")
    failing = next(each for each in judged if each.verdict == "fails")
    assert unexplained([failing.model_copy(update={"explanation": ""})]) == [failing.claim]


def test_a_byte_counts_on_the_same_build(kept: pl.DataFrame) -> None:
    changed = kept.with_columns(
        digest=pl.when(pl.int_range(pl.len()) == 3)
        .then(pl.lit("another"))
        .otherwise(pl.col("digest"))
    )
    (line,) = departures(changed, kept)
    assert "digest another" in line
    assert departures(kept, kept) == []


def test_bounds_count_on_another(kept: pl.DataFrame) -> None:
    other = kept.with_columns(kernel_build=pl.lit("another"), digest=pl.lit("another"))
    assert departures(other, kept) == []
    assert departures(other.with_columns(pl.col("goodput_mbit") * 1.1 + 0.05), kept) == []
    slower = departures(other.with_columns(pl.col("goodput_mbit") * 0.5), kept)
    assert len(slower) == (kept["goodput_mbit"] > 0.4).sum()
    late = departures(other.with_columns(pl.col("delay_median_ms") * 3 + 6), kept)
    assert len(late) == kept["delay_median_ms"].count()


def test_a_run_too_few_or_too_many(kept: pl.DataFrame) -> None:
    assert departures(kept.head(-1), kept)[0].endswith("not run")
    assert departures(kept, kept.head(-1))[0].endswith("not kept")


@pytest.mark.parametrize("paper", PAPERS)
def test_a_papers_reference_holds_together(paper: str) -> None:
    """What is kept of a figure is all of it: table, origin, verdicts."""
    names = {path.stem for path in shelf.reference(paper).glob("*.parquet")}
    assert names == {*shelf.paper(paper).figures}
    origins = [reference.origin(paper, name) for name in names]
    assert {(each.paper, each.profile) for each in origins} == {(paper, across.RECORD)}
    assert {each.figure for each in origins} == names
    kernels = {(each.kernel_release, each.kernel_build) for each in origins}
    # one of each series of Linux: 6.12 of 6.12.117-sandglass
    assert len({release.rpartition(".")[0] for release, _ in kernels}) == len(kernels)
    assert not any("digest" in reference.table(paper, name).columns for name in names)
    judged = reference.verdicts(paper)
    assert {each.figure for each in judged} == names
    assert "not judged" not in {each.verdict for each in judged}
    assert unexplained(judged) == []


@pytest.mark.skipif(shutil.which("git") is None, reason="no git on this host")
def test_the_commits_named_are_in_the_repository() -> None:
    """But for those that the reference's README lists, with the commit that stands for each."""
    git = ("git", "-C", str(builds.ROOT))
    listed = subprocess.run([*git, "rev-list", "HEAD"], capture_output=True, text=True, check=False)
    shallow = (*git, "rev-parse", "--is-shallow-repository")
    if listed.returncode or subprocess.check_output(shallow, text=True).strip() == "true":
        pytest.skip("this checkout has no history")
    known = {each[:12] for each in listed.stdout.split()}
    named = {
        commit
        for paper in PAPERS
        for name in reference.figures(paper)
        for commit in reference.origin(paper, name).commits
    }
    for name in ("cc", "qdisc"):
        named |= {*suites.read(name, "origins")["commits"].explode()}
    lost = dict(
        re.findall(
            r"^\| `(\w{12})` \| `(\w{12})` ",
            (builds.ROOT / "results/reference/README.md").read_text(),
            re.M,
        )
    )
    assert len(named & known) > 10
    assert named - known == lost.keys()
    assert set(lost.values()) <= known


@pytest.mark.parametrize("paper", PAPERS)
def test_the_verdicts_kept_are_those_of_the_tables_kept(paper: str) -> None:
    """Claims that change are judged again: ./sandglass reference PAPER --judge."""
    found = [v for name in shelf.paper(paper).figures for v in reference.judged(paper, name)]
    assert found == reference.verdicts(paper)
