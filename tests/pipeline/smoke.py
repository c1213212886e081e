"""The smoke profile against the results kept in its reference."""

import polars as pl
from polars.testing import assert_frame_equal

from sandglass.papers import reference, shelf, verdicts
from sandglass.results import series
from tests.conftest import Reproduced

KEY = ["experiment", "settings"]
BUILD = ["kernel_build", "modules"]
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
    """The runs of a paper's smoke profile as the reference lists them."""
    listed = shelf.reference(paper) / reference.SMOKE_RUNS
    return pl.read_csv(listed, infer_schema_length=None)


def assert_as_it_was(paper: str, reproduced: Reproduced) -> None:
    """Every run of all figures; on the same lab build to the last digit that is kept."""
    results = reproduced(paper)
    kept = smoke_runs(paper)
    found = pl.read_csv(results / "runs.csv", infer_schema_length=None)
    assert departures(found, kept) == []
    if found.select(BUILD).equals(kept.select(BUILD)):
        few = series.rounded(found.select(kept.columns), reference.DIGITS)
        assert_frame_equal(few, kept, check_exact=True)
    assert unexplained(verdicts.Verdict.read(results / "verdicts.csv")) == []


def unexplained(judged: list[verdicts.Verdict]) -> list[str]:
    """The claims that fail without a word on why."""
    return [each.claim for each in judged if each.verdict == "fails" and not each.explanation]
