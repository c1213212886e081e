"""Where two runs first differ."""

from pathlib import Path

import polars as pl
import pytest

from sandglass.run.difference import first_difference

PACKETS = pl.DataFrame(
    {
        "enqueue_ns": [1_000_000_000, 2_000_000_000, 3_000_000_000],
        "drop_ns": [None, 2_000_000_000, None],
        "size_bytes": [1514, 1514, 66],
    }
)
FLOWS = pl.DataFrame({"flow": [1, 2], "start_s": [0.0, 2.5], "goodput_mbit": [9.5, float("nan")]})


@pytest.fixture
def runs(tmp_path: Path) -> tuple[Path, Path]:
    """Two equal runs."""
    both = tmp_path / "1", tmp_path / "2"
    for run in both:
        run.mkdir()
        PACKETS.write_parquet(run / "packets.parquet")
        FLOWS.write_parquet(run / "flows.parquet")
    return both


def test_equal_runs_have_none_though_values_are_missing(runs: tuple[Path, Path]) -> None:
    assert first_difference(*runs) is None


def test_the_first_row_that_differs_is_named_with_time_and_values(
    runs: tuple[Path, Path],
) -> None:
    drops = pl.Series("drop_ns", [None, None, 3_000_000_001])
    PACKETS.with_columns(drops).write_parquet(runs[1] / "packets.parquet")
    assert str(first_difference(*runs)) == (
        "packets.parquet, row 1 at 2.000000000 s: drop_ns 2000000000 against None"
    )


def test_the_earliest_over_all_tables_counts(runs: tuple[Path, Path]) -> None:
    PACKETS.with_columns(size_bytes=pl.Series([1514, 1514, 67])).write_parquet(
        runs[1] / "packets.parquet"
    )
    FLOWS.with_columns(goodput_mbit=pl.Series([9.5, 1.0])).write_parquet(runs[1] / "flows.parquet")
    found = first_difference(*runs)
    assert found
    assert (found.table, found.row, found.time_s) == ("flows.parquet", 1, 2.5)


@pytest.mark.parametrize("turned", [False, True])
def test_a_run_that_goes_on_differs_where_the_other_ends(
    runs: tuple[Path, Path], turned: bool
) -> None:
    PACKETS.head(2).write_parquet(runs[1] / "packets.parquet")
    found = first_difference(*(reversed(runs) if turned else runs))
    assert found
    assert (found.row, found.time_s) == (2, 3.0)
    assert found.what == ("2 rows against 3" if turned else "3 rows against 2")


def test_a_table_only_one_run_has_is_a_difference(runs: tuple[Path, Path]) -> None:
    (runs[1] / "flows.parquet").unlink()
    found = first_difference(*runs)
    assert found
    assert found.table == "flows.parquet"
    assert str(runs[1]) in found.what


def test_other_columns_are_a_difference(runs: tuple[Path, Path]) -> None:
    FLOWS.drop("start_s").write_parquet(runs[1] / "flows.parquet")
    found = first_difference(*runs)
    assert found
    assert "start_s" in found.what
