"""Fig. 6: one Reno flow against several DCTCP flows with a marking threshold."""

from collections.abc import Sequence

import polars as pl
from plotnine import ggplot, labs

from pipelines.dctcp_internet import sharing
from pipelines.dctcp_internet.fig05 import PANELS, thresholds
from sandglass.papers.verdicts import Extreme, least
from sandglass.results import series


def table(runs: Sequence[series.Run]) -> pl.DataFrame:
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
    named = table.with_columns(pl.col("flows").cast(pl.String))
    legend = dict.fromkeys(("color", "shape", "fill"), "DCTCP flows")
    drawn: ggplot = sharing.draw(named, "relative", "flows", PANELS) + labs(
        x="K / Min_Thresh_Reno", y="", **legend
    )
    return drawn


def grows_at_each(table: pl.DataFrame, relative_to: float) -> Extreme | None:
    """The same correlation at each K / Min_Thresh_Reno up to one, the least over these."""
    ranks = (
        table.filter(pl.col("relative") <= relative_to)
        .group_by("relative")
        .agg(rho=pl.corr("flows", "utilisation", method="spearman"))
    )
    return least(ranks, "rho")


def equal_sharing_at(table: pl.DataFrame, flows: int) -> float | None:
    """K / Min_Thresh_Reno at equal sharing with so many DCTCP flows."""
    place = sharing.equal_sharing(table.filter(pl.col("flows") == flows), "relative")
    return place["relative"] if place else None


def rises(table: pl.DataFrame, measure: str) -> Extreme | None:
    """Spearman's correlation of a measure with K, the least over the numbers of flows."""
    return sharing.rise(table, "relative", "flows", measure)


def equal_sharing_moves(table: pl.DataFrame, flows: int) -> float | None:
    """K / Min_Thresh_Reno at equal sharing with so many DCTCP flows over that with one."""
    return _growth(table, flows, "relative")


def queue_at_equal_sharing(table: pl.DataFrame, flows: int) -> float | None:
    """The mean queue at equal sharing with so many DCTCP flows over that with one."""
    return _growth(table, flows, "occupancy")


def _growth(table: pl.DataFrame, flows: int, measure: str) -> float | None:
    """A measure at equal sharing with so many DCTCP flows over that with one."""
    one, many = (
        sharing.equal_sharing(table.filter(pl.col("flows") == number), "relative")
        for number in (1, flows)
    )
    return None if one is None or many is None else many[measure] / one[measure]


METRICS = (grows_at_each, equal_sharing_at, equal_sharing_moves, queue_at_equal_sharing, rises)
