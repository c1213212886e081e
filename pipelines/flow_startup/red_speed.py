"""Section 1.4, Publication II: RED that follows the queue too fast and too slowly."""

from collections.abc import Sequence

import polars as pl
from plotnine import ggplot

from pipelines.flow_startup import drawing, pub2
from sandglass.results import series

MEASURES = {
    "anomalies": "Overflows and cuts",
    "rtos": "Timeouts",
    "fct_s": "Completion time (s)",
}


def table(runs: Sequence[series.Run]) -> pl.DataFrame:
    """Publication II's table by `speed`, the weight of a new queue length over HRED's, with
    `anomalies`, packets that found the buffer full or were cut."""
    return (
        series.along(runs, "speed", pub2.table)
        .with_columns(
            pl.col("speed").cast(pl.Float64), anomalies=pl.col("overflow") + pl.col("cut")
        )
        .sort("speed", "flows")
    )


def plot(table: pl.DataFrame) -> ggplot:
    """Measures against the speed, a line per number of flows."""
    named = table.with_columns(line=pl.format("{} flows", "flows"))
    shown = drawing.measures(named, "speed", "line", MEASURES)
    return drawing.lines(shown, "Weight over HRED's", "", log_x=True)
