"""Publication IV at the RTTs that other AQMs are tuned to: longest queueing delay by flows."""

import polars as pl
from plotnine import (
    aes,
    facet_wrap,
    geom_errorbar,
    geom_line,
    geom_point,
    ggplot,
    labs,
    scale_color_manual,
    scale_shape_manual,
    scale_y_log10,
)

from pipelines.flow_startup import pub4, transients
from sandglass.papers import ensemble
from sandglass.results import style

table = pub4.table


def plot(table: pl.DataFrame) -> ggplot:
    """The longest wait against the number of flows, a panel per RTT."""
    means = ensemble.means(table, ["queue", "flows", "rtt_ms"], "peak_ms")
    shown = means.with_columns(
        path=transients.rtt_label(table), number=transients.flow_label(table, "flows")
    )
    drawn: ggplot = (
        ggplot(shown, aes("number", "peak_ms", color="queue", shape="queue", group="queue"))
        + facet_wrap("path")
        + geom_line()
        + geom_errorbar(aes(ymin="low", ymax="high"), shown.drop_nulls("low"), width=0.1)
        + geom_point(size=2)
        + scale_y_log10()
        + scale_color_manual(style.PALETTE)
        + scale_shape_manual(style.SHAPES)
        + labs(x="", y="Longest wait (ms)", color="", shape="")
    )
    return drawn


METRICS = (pub4.delay_ratio, pub4.share_below)
