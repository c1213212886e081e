"""Why a page waits longer with Predict at 10 ms: the initial windows of its six connections."""

from collections.abc import Sequence

import polars as pl
from plotnine import aes, geom_line, geom_point, ggplot, labs, scale_color_manual, scale_y_log10

from pipelines.flow_startup import page
from sandglass.results import series, style


def table(runs: Sequence[series.Run]) -> pl.DataFrame:
    """The page's table for each `initial_window`, packets."""
    return series.along(runs, "initial_window", page.table)


def plot(table: pl.DataFrame) -> ggplot:
    """The longest wait against the initial window, a line per queue."""
    drawn: ggplot = (
        ggplot(table, aes("initial_window", "peak_ms", color="queue"))
        + geom_line()
        + geom_point(size=2)
        + scale_y_log10()
        + scale_color_manual(style.PALETTE)
        + labs(x="Initial window (packets)", y=page.MEASURES["peak_ms"], color="")
    )
    return drawn


def over_best_built_in(
    table: pl.DataFrame, column: str, window_from: int, window_to: int
) -> float | None:
    """A measure with Predict over the least with mainline's AQMs, the largest over the initial
    windows from one to another."""
    ratios = [
        page.over_best_built_in(rows, column, rtt_from=0, rtt_to=50)
        for _, rows in table.filter(
            pl.col("initial_window").is_between(window_from, window_to)
        ).group_by("initial_window")
    ]
    known = [ratio for ratio in ratios if ratio is not None]
    return max(known, default=None)


METRICS = (over_best_built_in,)
