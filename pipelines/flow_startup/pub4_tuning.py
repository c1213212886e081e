"""Publication IV at the RTTs that other AQMs are tuned to: longest queueing delay by flows."""

import plotnine as p9
import polars as pl

from pipelines.flow_startup import pub4, transients
from sandglass.papers import ensemble
from sandglass.results import style

table = pub4.table


def plot(table: pl.DataFrame) -> p9.ggplot:
    """The longest wait against the number of flows, a panel per RTT."""
    means = ensemble.means(table, ["queue", "flows", "rtt_ms"], "peak_ms")
    shown = means.with_columns(
        path=transients.rtt_label(table), number=transients.flow_label(table, "flows")
    )
    drawn: p9.ggplot = (
        p9.ggplot(shown, p9.aes("number", "peak_ms", color="queue", shape="queue", group="queue"))
        + p9.facet_wrap("path")
        + p9.geom_line()
        + p9.geom_errorbar(p9.aes(ymin="low", ymax="high"), shown.drop_nulls("low"), width=0.1)
        + p9.geom_point(size=2)
        + p9.scale_y_log10()
        + p9.scale_color_manual(style.PALETTE)
        + p9.scale_shape_manual(style.SHAPES)
        + p9.labs(x="", y="Longest wait (ms)", color="", shape="")
    )
    return drawn


METRICS = (pub4.share_below,)
