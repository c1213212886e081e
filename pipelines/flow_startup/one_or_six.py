"""Section 2.2: one flow of ten segments against six of three, by link and by what each sends."""

from collections.abc import Sequence

import polars as pl
from plotnine import ggplot

from pipelines.flow_startup import drawing, pub1
from sandglass.papers import ensemble
from sandglass.papers.verdicts import Extreme, largest, scalar
from sandglass.results import series

MEASURES = {"longest_ms": "Longest one-way delay", "jump_ms": "Largest delay variation"}


def table(runs: Sequence[series.Run]) -> pl.DataFrame:
    """One row per link and size: `longest_ms` and `jump_ms` as in publication I, with one flow of
    initial window 10 over that with six of 3."""
    measured = series.along(runs, "link", pub1.table)
    one, six = (
        measured.filter(initial_window=window, flows=flows) for window, flows in ((10, 1), (3, 6))
    )
    return (
        one.join(six, on=["link", "size_kb"], suffix="_six")
        .select("link", "size_kb", *(pl.col(name) / pl.col(f"{name}_six") for name in MEASURES))
        .sort("link", "size_kb")
    )


def plot(table: pl.DataFrame) -> ggplot:
    """Both ratios against the size, a line per link."""
    shown = drawing.measures(ensemble.numbered(table), "size_kb", "link", MEASURES)
    return drawing.lines(shown, "Each flow (kB)", "One of ten over six of three", log_x=True)


def typical_ratio(table: pl.DataFrame, column: str) -> float | None:
    """A ratio, the median over links and sizes."""
    return scalar(table[column].median())


def largest_ratio(table: pl.DataFrame, column: str) -> Extreme | None:
    """A ratio, the largest over links and sizes."""
    return largest(table.select("link", "size_kb", column), column)


METRICS = (typical_ratio, largest_ratio)
