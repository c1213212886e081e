"""Fig. 6: one Reno flow against several DCTCP flows with a marking threshold."""

from collections.abc import Sequence

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
from pipelines.dctcp_internet.fig05 import PANELS, thresholds
from sandglass import figures, traces
from sandglass.verdicts import scalar


def table(runs: Sequence[traces.Run]) -> pl.DataFrame:
    """One row per number of DCTCP flows and `relative` = K / Min_Thresh_Reno; the ratio is that of
    the Reno flow and the mean of the others."""
    return sharing.means(
        [
            {"flows": run.field("experiment.flows.1.count")} | thresholds(run) | sharing.steady(run)
            for run in runs
        ]
    )


def plot(table: pl.DataFrame) -> ggplot:
    """A panel per measure, a line per number of DCTCP flows; dotted: equal shares."""
    shown = sharing.long(
        table.with_columns(pl.col("flows").cast(pl.String)), ["flows", "relative"], PANELS
    )
    equal = pl.DataFrame({"measure": [PANELS["ratio"]], "y": [1.0]}).with_columns(
        pl.col("measure").cast(shown.schema["measure"])
    )
    drawn: ggplot = (
        ggplot(shown, aes("relative", "value", color="flows", shape="flows"))
        + facet_wrap("measure", scales="free_y")
        + geom_hline(aes(yintercept="y"), data=equal, linetype="dotted")
        + geom_line()
        + geom_point(size=1.5)
        + scale_color_manual(figures.PALETTE)
        + scale_shape_manual(figures.SHAPES)
        + labs(x="K / Min_Thresh_Reno", y="", color="DCTCP flows", shape="DCTCP flows")
    )
    return drawn


def utilisation_grows(table: pl.DataFrame) -> float | None:
    """Spearman's correlation of the utilisation, mean over all K, with the number of flows."""
    by_flows = table.group_by("flows").agg(pl.col("utilisation").mean())
    return scalar(by_flows.select(pl.corr("flows", "utilisation", method="spearman")).item())


def equal_sharing_moves(table: pl.DataFrame, flows: int) -> float | None:
    """K / Min_Thresh_Reno at equal sharing with so many DCTCP flows over that with one."""
    places = [
        sharing.equal_sharing(table.filter(pl.col("flows") == number), "relative")
        for number in (1, flows)
    ]
    if places[0] is None or places[1] is None:
        return None
    return places[1]["relative"] / places[0]["relative"]


def queue_at_equal_sharing(table: pl.DataFrame, flows: int) -> float | None:
    """The mean queue at equal sharing with so many DCTCP flows over that with one."""
    places = [
        sharing.equal_sharing(table.filter(pl.col("flows") == number), "relative")
        for number in (1, flows)
    ]
    if places[0] is None or places[1] is None:
        return None
    return places[1]["occupancy"] / places[0]["occupancy"]


METRICS = (utilisation_grows, equal_sharing_moves, queue_at_equal_sharing)
