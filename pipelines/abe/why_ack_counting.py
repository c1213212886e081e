"""Why Figs. 14 and 15 differ: a NewReno that grows by bytes, or by ACKs as Linux 3.17's did."""

from collections.abc import Sequence

import polars as pl
from plotnine import (
    aes,
    facet_wrap,
    geom_hline,
    geom_line,
    geom_point,
    ggplot,
    labs,
    scale_color_manual,
    scale_linetype_manual,
    scale_shape_manual,
)

from pipelines.abe import friendliness
from sandglass.results import series, style


def table(runs: Sequence[series.Run]) -> pl.DataFrame:
    """Figs. 14 and 15's table for each NewReno."""
    return series.along(runs, "newreno", friendliness.table)


def plot(table: pl.DataFrame) -> ggplot:
    """Ratio against the RTT, a line through the means per NewReno, a panel per AQM."""
    means = table.group_by("queue", "newreno", "rtt_ms", maintain_order=True).agg(
        pl.col("ratio").mean()
    )
    named = dict.fromkeys(("color", "shape", "linetype"), "NewReno")
    drawn: ggplot = (
        ggplot(means, aes("rtt_ms", "ratio", color="newreno", shape="newreno", linetype="newreno"))
        + facet_wrap("queue")
        + geom_hline(yintercept=1, linetype="dotted", color="#666666")
        + geom_line()
        + geom_point(size=2)
        + scale_color_manual(style.PALETTE)
        + scale_shape_manual(style.SHAPES)
        + scale_linetype_manual(style.LINES)
        + labs(x="Base RTT (ms)", y="Throughput per flow, CUBIC with ECN / NewReno", **named)
    )
    return drawn


def mean(table: pl.DataFrame, newreno: str, queue: str, beta: float) -> float | None:
    """The mean ratio over all RTTs, splits and seeds."""
    return friendliness.mean(table.filter(pl.col("newreno") == newreno), queue, beta)


METRICS = (mean,)
