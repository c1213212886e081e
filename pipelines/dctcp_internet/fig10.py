"""Fig. 10: settings by the rule of equal sharing, against Reno's minimum threshold."""

from collections.abc import Sequence

import polars as pl
from plotnine import aes, facet_wrap, geom_line, geom_point, ggplot, labs

from pipelines.dctcp_internet import sharing
from sandglass.papers.verdicts import scalar
from sandglass.results import series, style

PANELS = {
    "jain": "Jain's index",
    "utilisation": "Utilisation",
    "occupancy": "Mean queue (BDP)",
}


def table(runs: Sequence[series.Run]) -> pl.DataFrame:
    """One row per Min_Thresh_Reno (`minimum`, BDP); means over the seeds."""
    return sharing.means(
        [{"minimum": sharing.setting(run, "drop_min")} | sharing.steady(run) for run in runs]
    )


def plot(table: pl.DataFrame) -> ggplot:
    """A panel per measure."""
    drawn: ggplot = (
        ggplot(sharing.long(table, ["minimum"], PANELS), aes("minimum", "value"))
        + facet_wrap("measure", scales="free_y")
        + geom_line(color=style.PALETTE[0])
        + geom_point(color=style.PALETTE[0])
        + labs(x="Min_Thresh_Reno (BDP)", y="")
    )
    return drawn


def least_fair(table: pl.DataFrame) -> float | None:
    """The least index over the range."""
    return scalar(table["jain"].min())


def least_utilisation(table: pl.DataFrame, since: float) -> float | None:
    """The least utilisation from some Min_Thresh_Reno on."""
    return scalar(table.filter(pl.col("minimum") >= since - 1e-9)["utilisation"].min())


def linearity(table: pl.DataFrame) -> float | None:
    """The square of the linear correlation of the mean queue with Min_Thresh_Reno."""
    return scalar(table.select(pl.corr("minimum", "occupancy") ** 2).item())


METRICS = (least_fair, least_utilisation, linearity)
