"""Why Figs. 14 and 15 differ: a NewReno that grows by bytes, or by ACKs as Linux 3.17's did."""

from collections.abc import Sequence

import plotnine as p9
import polars as pl

from pipelines.abe import friendliness
from sandglass.results import series, style


def table(runs: Sequence[series.Run]) -> pl.DataFrame:
    """Figs. 14 and 15's table for each NewReno."""
    return series.along(runs, "newreno", friendliness.table)


def plot(table: pl.DataFrame) -> p9.ggplot:
    """Ratio against the RTT, a line through the means per NewReno, a panel per AQM and beta_ecn."""
    means = table.group_by("queue", "newreno", "beta_ecn", "rtt_ms", maintain_order=True).agg(
        pl.col("ratio").mean()
    )
    named = dict.fromkeys(("color", "shape", "linetype"), "NewReno")
    drawn: p9.ggplot = (
        p9.ggplot(
            means, p9.aes("rtt_ms", "ratio", color="newreno", shape="newreno", linetype="newreno")
        )
        + p9.facet_grid("beta_ecn", "queue")
        + p9.geom_hline(yintercept=1, linetype="dotted", color="#666666")
        + p9.geom_line()
        + p9.geom_point(size=2)
        + p9.scale_color_manual(style.PALETTE)
        + p9.scale_shape_manual(style.SHAPES)
        + p9.scale_linetype_manual(style.LINES)
        + p9.labs(x="Base RTT (ms)", y="Throughput per flow, CUBIC / NewReno", **named)
    )
    return drawn
