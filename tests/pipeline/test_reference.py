"""The smoke profile against the results kept in results/reference/."""

import json

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from sandglass.papers import shelf, steps, verdicts
from sandglass.papers.shelf import REFERENCE
from tests.conftest import Reproduced

PROFILES = {
    "abe": "paper",
    "flow_startup": "paper",
    "dctcp_internet": "paper",
    "dualq": "paper",
    "ls_aimd": "paper",
}
"""The profile that a paper's reference is of."""
KEY = ["experiment", "settings"]
BUILD = ["kernel_build", "modules"]
ORIGIN = ["lab_build", "commit", "wall_s"]
"""What of a run may differ though its bytes do not."""
# How far another lab build (compiler, kernel's minor version, Debian's programs) may be from the
# reference: shares of the value, and what a small value may differ by. The runs of the smoke
# profile are short, so that a single mark at another packet shows.
BOUNDS = {
    "goodput_mbit": (0.15, 0.2),
    "utilisation": (0.15, 0.02),
    "delay_median_ms": (0.5, 5.0),
}


def departures(found: pl.DataFrame, kept: pl.DataFrame) -> list[str]:
    """The runs that differ from those kept: by a byte where the lab build is the same, else by
    more than BOUNDS."""
    both = kept.join(found, on=KEY, how="full", suffix="_found", coalesce=True)
    wrong = []
    for run in both.iter_rows(named=True):
        name = f"{run['experiment']} at {run['settings']}"
        if run["digest"] is None or run["digest_found"] is None:
            wrong.append(f"{name}: {'not kept' if run['digest'] is None else 'not run'}")
        elif all(run[column] == run[f"{column}_found"] for column in BUILD):
            if run["digest"] != run["digest_found"]:
                wrong.append(f"{name}: digest {run['digest_found']}, kept {run['digest']}")
        else:
            wrong += [
                f"{name}: {column} {run[f'{column}_found']}, kept {run[column]}"
                for column, (share, least) in BOUNDS.items()
                if run[column] is not None
                and abs(run[f"{column}_found"] - run[column]) > max(share * run[column], least)
            ]
    return wrong


def smoke_runs(paper: str) -> pl.DataFrame:
    return pl.read_csv(REFERENCE / paper / "smoke-runs.csv", infer_schema_length=None)


@pytest.fixture
def kept() -> pl.DataFrame:
    return smoke_runs("abe")


@pytest.mark.lab
@pytest.mark.parametrize("paper", PROFILES)
def test_smoke_is_as_it_was(paper: str, reproduced: Reproduced) -> None:
    """Every run of all figures; on the same lab build the tables are the same to the last digit."""
    results = reproduced(paper)
    kept = smoke_runs(paper)
    found = pl.read_csv(results / "runs.csv", infer_schema_length=None)
    assert departures(found, kept) == []
    if found.select(BUILD).equals(kept.select(BUILD)):
        assert_frame_equal(found.drop(ORIGIN), kept.drop(ORIGIN, strict=False))
    assert unexplained(verdicts.read(results / "verdicts.csv")) == []


def unexplained(judged: list[verdicts.Verdict]) -> list[str]:
    """The claims that fail without a word on why."""
    return [each.claim for each in judged if each.verdict == "fails" and not each.explanation]


def test_a_claim_that_fails_needs_a_word() -> None:
    judged = verdicts.read(REFERENCE / "abe" / "verdicts.csv")
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
    assert departures(other.with_columns(pl.col("goodput_mbit") * 1.1 + 0.1), kept) == []
    slower = departures(other.with_columns(pl.col("goodput_mbit") * 0.5), kept)
    assert len(slower) == (kept["goodput_mbit"] > 0.4).sum()
    late = departures(other.with_columns(pl.col("delay_median_ms") * 3 + 6), kept)
    assert len(late) == kept["delay_median_ms"].count()


def test_a_run_too_few_or_too_many(kept: pl.DataFrame) -> None:
    assert departures(kept.head(-1), kept)[0].endswith("not run")
    assert departures(kept, kept.head(-1))[0].endswith("not kept")


@pytest.mark.parametrize("paper", PROFILES)
def test_a_papers_reference_holds_together(paper: str) -> None:
    """What is kept of a figure is all of it: table, figure, origin, verdicts."""
    directory = REFERENCE / paper
    origins = [json.loads(path.read_text()) for path in sorted(directory.glob("*.json"))]
    assert {origin["profile"] for origin in origins} == {PROFILES[paper]}
    assert len({(origin["kernel_release"], origin["kernel_build"]) for origin in origins}) == 1
    names = {origin["figure"] for origin in origins}
    assert names == set(shelf.figures(paper).figures)
    assert {path.stem for path in directory.glob("*.svg")} == names
    lists = {"verdicts", "runs", "smoke-runs"}
    assert {path.stem for path in directory.glob("*.csv")} - lists == names
    judged = verdicts.read(directory / "verdicts.csv")
    assert {each.figure for each in judged} == names
    assert "not judged" not in {each.verdict for each in judged}
    assert unexplained(judged) == []


@pytest.mark.parametrize("paper", PROFILES)
def test_the_verdicts_kept_are_those_of_the_tables_kept(paper: str) -> None:
    """Claims that change are judged again: python -m sandglass.papers.steps again PAPER."""
    found = [v for name in shelf.figures(paper).figures for v in steps.judged(paper, name)]
    assert found == verdicts.read(REFERENCE / paper / "verdicts.csv")
