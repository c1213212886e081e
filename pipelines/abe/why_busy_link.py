"""Why Figs. 8 and 10 differ through CoDel: a link idle between the peaks, or always busy."""

from collections.abc import Sequence

import plotnine as p9
import polars as pl

from pipelines.abe import sojourn
from sandglass.papers.verdicts import Extreme
from sandglass.results import series, style

MEDIAN = 50


def table(runs: Sequence[series.Run]) -> pl.DataFrame:
    """The median alone of Figs. 8 and 10's table: one row per congestion control, RTT and beta."""
    return sojourn.table(runs).filter(pl.col("percentile") == MEDIAN)


def plot(table: pl.DataFrame) -> p9.ggplot:
    """The median against the RTT, a panel per control, a line per beta; dotted: target."""
    shown = table.with_columns(factor=pl.col("beta").cast(pl.String))
    drawn: p9.ggplot = (
        p9.ggplot(shown, p9.aes("rtt_ms", "delay_ms", color="factor", shape="factor"))
        + p9.facet_wrap("control")
        + p9.geom_hline(yintercept=sojourn.TARGET_MS["CoDel"], linetype="dotted", color="#666666")
        + p9.geom_line()
        + p9.geom_point(size=2)
        + p9.scale_color_manual(style.PALETTE)
        + p9.scale_shape_manual(style.SHAPES)
        + p9.labs(
            x="Base RTT (ms)",
            y="Median of the queueing delay (ms)",
            color="beta_ecn",
            shape="beta_ecn",
        )
    )
    return drawn


def off_target(table: pl.DataFrame, control: str, rtt_ms: float) -> Extreme | None:
    """How far the median is from CoDel's target, either way, ms: the largest over the betas."""
    at = table.filter(pl.col("rtt_ms") == rtt_ms)
    return sojourn.off_target(at, control, "CoDel", MEDIAN)


METRICS = (off_target,)
