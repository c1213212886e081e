"""Why PIE's estimator disables it: a buffer that never holds what it measures over."""

from collections.abc import Sequence

import polars as pl
from plotnine import ggplot

from pipelines.flow_startup import drawing, pie_estimator
from sandglass.results import series


def table(runs: Sequence[series.Run]) -> pl.DataFrame:
    """pie_estimator's table for each `buffer`."""
    return series.along(runs, "buffer", pie_estimator.table)


def plot(table: pl.DataFrame) -> ggplot:
    """pie_estimator's measures against the rate, a line per buffer and sample."""
    named = table.with_columns(line=pl.format("{}, over {}", "buffer", "sample"))
    shown = drawing.measures(named, "rate_mbit", "line", pie_estimator.MEASURES)
    return drawing.lines(shown, "Link (Mb/s)", "", log_x=True)
