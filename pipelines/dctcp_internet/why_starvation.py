"""Why Fig. 5 comes near starvation: how likely a drop is at a queue that the step holds."""

from collections.abc import Sequence

import polars as pl
from plotnine import aes, geom_line, geom_point, ggplot, labs, scale_color_manual, scale_y_log10

from pipelines.dctcp_internet import fig05, sharing
from sandglass.results import series, style


def table(runs: Sequence[series.Run]) -> pl.DataFrame:
    """One row per choice of `drops` and `relative` = K / Min_Thresh_Reno; means over the seeds."""
    return series.along(runs, "drops", fig05.table)


def plot(table: pl.DataFrame) -> ggplot:
    """The ratio against K, a line per choice of drops."""
    drawn: ggplot = (
        ggplot(table, aes("relative", "ratio", color="drops"))
        + geom_line()
        + geom_point(size=2)
        + scale_y_log10()
        + scale_color_manual(style.PALETTE)
        + labs(x="K / Min_Thresh_Reno", y=sharing.RATIO, color="Drops")
    )
    return drawn
