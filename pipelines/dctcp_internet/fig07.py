"""Fig. 7: sharing and queue against a marking slope's maximum probability."""

import polars as pl
from plotnine import ggplot, labs

from pipelines.dctcp_internet import sharing
from pipelines.dctcp_internet.slopes import table
from sandglass.papers.verdicts import Extreme

PANELS = {"ratio": sharing.RATIO, "occupancy": "Mean queue (BDP)"}


def plot(table: pl.DataFrame) -> ggplot:
    """A panel per measure, a line per Min_Thresh_DCTCP; dotted: equal shares."""
    named = table.with_columns(threshold=sharing.label("minimum", "{} BDP"))
    legend = dict.fromkeys(("color", "shape", "fill"), "Min_Thresh_DCTCP")
    drawn: ggplot = sharing.draw(named, "probability", "threshold", PANELS) + labs(
        x="Max_Prob_DCTCP", y="", **legend
    )
    return drawn


def queue_falls(table: pl.DataFrame) -> Extreme | None:
    """Spearman's correlation of the shortening of the queue with the probability, the least over
    the minimum thresholds."""
    shorter = table.with_columns(shorter=-pl.col("occupancy"))
    return sharing.rise(shorter, "probability", "minimum", "shorter")


METRICS = (queue_falls,)

__all__ = ["METRICS", "plot", "table"]
