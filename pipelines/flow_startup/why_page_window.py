"""Why a page waits longer with Predict at 10 ms: the initial windows of its six connections."""

from collections.abc import Sequence

import polars as pl
from plotnine import ggplot, scale_y_log10

from pipelines.flow_startup import drawing, page
from sandglass.papers import ensemble
from sandglass.papers.verdicts import Extreme, largest
from sandglass.results import series


def table(runs: Sequence[series.Run]) -> pl.DataFrame:
    """The page's table for each `initial_window`, packets."""
    return series.along(runs, "initial_window", page.table)


def plot(table: pl.DataFrame) -> ggplot:
    """The longest wait against the initial window, a line per queue."""
    shown = ensemble.numbered(table).select(
        ensemble.REPLICA, x="initial_window", value="peak_ms", line="queue", panel=pl.lit("10 ms")
    )
    drawn = drawing.lines(shown, "Initial window (packets)", page.MEASURES["peak_ms"])
    return drawn + scale_y_log10()


def over_best_built_in(
    table: pl.DataFrame, column: str, window_from: int, window_to: int
) -> Extreme | None:
    """A measure with Predict over the least with mainline's AQMs, the largest over the initial
    windows from one to another."""
    asked = table.filter(pl.col("initial_window").is_between(window_from, window_to))
    return largest(page.over_built_in(asked, column, "initial_window"), "ratio")


METRICS = (over_best_built_in,)
