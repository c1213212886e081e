"""Why a K just above Max_Thresh_Reno leaves Reno a share: the queue that the step holds."""

from collections.abc import Sequence

import polars as pl
from plotnine import aes, geom_hline, geom_point, ggplot, labs, scale_color_manual

from pipelines.dctcp_internet import outside, sharing
from sandglass.results import series, style


def table(runs: Sequence[series.Run]) -> pl.DataFrame:
    """One row per choice of `drops`: the share of both goodputs that the `larger` flow has, and the
    mean queue over the Max_Thresh_Reno that is stated, three times the minimum (`held`)."""
    rows = []
    for run in runs:
        flows = outside.table([run]).row(0, named=True)
        rows.append(
            {
                "drops": str(run.axes["drops"]),
                "larger": flows["larger"],
                "held": sharing.steady(run)["occupancy"] / (3 * flows["minimum"]),
            }
        )
    return pl.DataFrame(rows).sort("drops")


def plot(table: pl.DataFrame) -> ggplot:
    """The larger flow's share against the mean queue; dotted: almost all."""
    drawn: ggplot = (
        ggplot(table, aes("held", "larger", color="drops"))
        + geom_hline(yintercept=outside.ALMOST_ALL, linetype="dotted")
        + geom_point()
        + scale_color_manual(style.PALETTE)
        + labs(x="Mean queue / stated Max_Thresh_Reno", y="Share of the larger", color="Drops")
    )
    return drawn
