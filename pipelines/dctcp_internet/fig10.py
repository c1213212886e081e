"""Fig. 10: settings by the rule of equal sharing, against Reno's minimum threshold."""

from collections.abc import Sequence

import polars as pl
from plotnine import ggplot, guides, labs

from pipelines.dctcp_internet import sharing
from sandglass.papers.verdicts import scalar
from sandglass.results import series

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
    named = table.with_columns(flows=pl.lit("one of each"))
    drawn: ggplot = (
        sharing.draw(named, "minimum", "flows", PANELS)
        + labs(x="Min_Thresh_Reno (BDP)", y="")
        + guides(color="none", shape="none", fill="none")
    )
    return drawn


def linearity(table: pl.DataFrame) -> float | None:
    """The square of the linear correlation of the mean queue with Min_Thresh_Reno."""
    return scalar(table.select(pl.corr("minimum", "occupancy") ** 2).item())


METRICS = (linearity,)
