"""Why six flows of three segments delay as long as one of ten: they carry six times as much."""

from collections.abc import Sequence

import polars as pl
from plotnine import ggplot

from pipelines.flow_startup import drawing, one_or_six, pub1
from sandglass.papers.verdicts import Extreme, least, scalar
from sandglass.results import series

MEASURES = one_or_six.MEASURES


def table(runs: Sequence[series.Run]) -> pl.DataFrame:
    """One row per `all_kb`, what the flows send together: `longest_ms` and `jump_ms` as in
    publication I, with one flow of initial window 10 over that with six of 3."""
    measured = pub1.table(runs).with_columns(all_kb=pl.col("size_kb") * pl.col("flows"))
    one, six = (
        measured.filter(initial_window=window, flows=flows) for window, flows in ((10, 1), (3, 6))
    )
    return (
        one.join(six, on="all_kb", suffix="_six")
        .select("all_kb", *(pl.col(name) / pl.col(f"{name}_six") for name in MEASURES))
        .sort("all_kb")
    )


def plot(table: pl.DataFrame) -> ggplot:
    """Both ratios against what is sent in all."""
    named = table.with_columns(line=pl.lit("One of ten over six of three"))
    shown = drawing.measures(named, "all_kb", "line", MEASURES)
    return drawing.lines(shown, "All flows together (kB)", "", log_x=True)


def typical_ratio(table: pl.DataFrame, column: str) -> float | None:
    """A ratio, the median over what is sent."""
    return scalar(table[column].median())


def least_ratio(table: pl.DataFrame, column: str) -> Extreme | None:
    """A ratio, the least over what is sent."""
    return least(table.select("all_kb", column), column)


METRICS = (typical_ratio, least_ratio)
