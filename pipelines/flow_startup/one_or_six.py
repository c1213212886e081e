"""Section 2.2: one flow of ten segments against six of three on a cellular link."""

from collections.abc import Sequence

import polars as pl
from plotnine import ggplot

from pipelines.flow_startup import drawing, pub1
from sandglass.papers.verdicts import Extreme, largest, scalar
from sandglass.results import series

MEASURES = {"longest_ms": "Longest one-way delay", "jump_ms": "Largest delay variation"}


def table(runs: Sequence[series.Run]) -> pl.DataFrame:
    """One row per size: `longest_ms` and `jump_ms` as in publication I, with one flow of initial
    window 10 over that with six of 3."""
    measured = pub1.table(runs)
    one, six = (
        measured.filter(initial_window=window, flows=flows) for window, flows in ((10, 1), (3, 6))
    )
    return (
        one.join(six, on="size_kb", suffix="_six")
        .select("size_kb", *(pl.col(name) / pl.col(f"{name}_six") for name in MEASURES))
        .sort("size_kb")
    )


def plot(table: pl.DataFrame) -> ggplot:
    """Both ratios against the size."""
    named = table.with_columns(line=pl.lit("One of ten over six of three"))
    shown = drawing.measures(named, "size_kb", "line", MEASURES)
    return drawing.lines(shown, "Each flow (kB)", "", log_x=True)


def typical_ratio(table: pl.DataFrame, column: str) -> float | None:
    """A ratio, the median over sizes."""
    return scalar(table[column].median())


def largest_ratio(table: pl.DataFrame, column: str) -> Extreme | None:
    """A ratio, the largest over sizes."""
    return largest(table.select("size_kb", column), column)


METRICS = (typical_ratio, largest_ratio)
