"""Section 2.2: one flow of ten segments against six of three on a cellular link."""

from collections.abc import Sequence

import polars as pl
from plotnine import ggplot

from pipelines.flow_startup import drawing, pub1
from sandglass.results import series

MEASURES = {"longest_ms": "Longest one-way delay", "jump_ms": "Largest delay variation"}


def table(runs: Sequence[series.Run]) -> pl.DataFrame:
    """One row per size: `longest_ms` and `jump_ms` as in publication I, with one flow of initial
    window 10 over that with six of 3."""
    return compared(pub1.table(runs), "size_kb")


def compared(measured: pl.DataFrame, by: str) -> pl.DataFrame:
    """Publication I's measures with one flow of initial window 10 over those with six of 3, a row
    per value of the column `by`."""
    one, six = (
        measured.filter(initial_window=window, flows=flows) for window, flows in ((10, 1), (3, 6))
    )
    return (
        one.join(six, on=by, suffix="_six")
        .select(by, *(pl.col(name) / pl.col(f"{name}_six") for name in MEASURES))
        .sort(by)
    )


def plot(table: pl.DataFrame) -> ggplot:
    """Both ratios against the size."""
    return drawn(table, "size_kb", "Each flow (kB)")


def drawn(table: pl.DataFrame, by: str, name: str) -> ggplot:
    """Both ratios against the column `by`, the axis with its name."""
    named = table.with_columns(line=pl.lit("One of ten over six of three"))
    return drawing.lines(drawing.measures(named, by, "line", MEASURES), name, "", log_x=True)
