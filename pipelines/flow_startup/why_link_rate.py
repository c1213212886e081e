"""Why 16 flows at 10 ms wait longer with Predict than with SFQ-CoDel: their initial windows."""

from collections.abc import Sequence

import plotnine as p9
import polars as pl

from pipelines.flow_startup import pub4, transients
from sandglass.papers.verdicts import scalar
from sandglass.results import series, style


def table(runs: Sequence[series.Run]) -> pl.DataFrame:
    """Publication IV's table for each `rate_mbit` of the link."""
    return transients.of_each_rate(runs, pub4.table)


def plot(table: pl.DataFrame) -> p9.ggplot:
    """The longest wait against the rate."""
    drawn: p9.ggplot = (
        p9.ggplot(table, p9.aes("rate_mbit", "peak_ms", color="queue"))
        + p9.geom_line()
        + p9.geom_point(size=2)
        + p9.scale_x_log10()
        + p9.scale_y_log10()
        + p9.scale_color_manual(style.PALETTE)
        + p9.labs(x="Rate (Mb/s)", y=pub4.MEASURES["peak_ms"], color="")
    )
    return drawn


def delay_ratio(table: pl.DataFrame, queue: str, over: str, rate_from: float) -> float | None:
    """The longest wait with one queue over that with another, the largest over the rates from one
    on."""
    rows = table.filter(pl.col("rate_mbit") >= rate_from)
    one, other = (rows.filter(queue=name).select("rate_mbit", "peak_ms") for name in (queue, over))
    both = one.join(other, on="rate_mbit", suffix="_over")
    return scalar((both["peak_ms"] / both["peak_ms_over"]).max())


METRICS = (delay_ratio,)
