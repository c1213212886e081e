"""Fig. 7: sharing and queue against a marking slope's maximum probability."""

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
    scale_shape_manual,
)

from pipelines.dctcp_internet import sharing
from pipelines.dctcp_internet.slopes import table
from sandglass import figures
from sandglass.verdicts import scalar

PANELS = {"ratio": "Throughput, Reno / DCTCP", "occupancy": "Mean queue (BDP)"}


def plot(table: pl.DataFrame) -> ggplot:
    """A panel per measure, a line per Min_Thresh_DCTCP; dotted: equal shares."""
    named = table.with_columns(threshold=sharing.label("minimum", "{} BDP"))
    shown = sharing.long(named, ["threshold", "probability"], PANELS)
    equal = pl.DataFrame({"measure": [PANELS["ratio"]], "y": [1.0]}).with_columns(
        pl.col("measure").cast(shown.schema["measure"])
    )
    drawn: ggplot = (
        ggplot(shown, aes("probability", "value", color="threshold", shape="threshold"))
        + facet_wrap("measure", scales="free_y")
        + geom_hline(aes(yintercept="y"), data=equal, linetype="dotted")
        + geom_line()
        + geom_point(size=1.5)
        + scale_color_manual(figures.PALETTE)
        + scale_shape_manual(figures.SHAPES)
        + labs(x="Max_Prob_DCTCP", y="", color="Min_Thresh_DCTCP", shape="Min_Thresh_DCTCP")
    )
    return drawn


def equal_for(table: pl.DataFrame) -> float | None:
    """The share of minimum thresholds below Reno's where some probability gives equal shares."""
    below = table.filter(pl.col("minimum") < 1)
    sides = below.group_by("minimum").agg(
        both=(pl.col("ratio").min() <= 1) & (pl.col("ratio").max() >= 1)
    )
    return scalar(sides["both"].mean())


def most_for_reno(table: pl.DataFrame) -> float | None:
    """The largest ratio of Reno's throughput to DCTCP's with equal minimum thresholds."""
    return scalar(table.filter(pl.col("minimum") == 1)["ratio"].max())


METRICS = (equal_for, most_for_reno)

__all__ = ["METRICS", "plot", "table"]
