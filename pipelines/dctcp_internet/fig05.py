"""Fig. 5: sharing, utilisation and queue against a marking threshold."""

from collections.abc import Sequence

import polars as pl
from plotnine import ggplot, labs

from pipelines.dctcp_internet import sharing
from sandglass.papers.verdicts import Extreme, least
from sandglass.results import series

PANELS = {
    "ratio": sharing.RATIO,
    "utilisation": "Utilisation",
    "occupancy": "Mean queue (BDP)",
}


def table(runs: Sequence[series.Run]) -> pl.DataFrame:
    """One row per Min_Thresh_Reno (`minimum`, BDP) and `relative` = K / Min_Thresh_Reno; means
    over the seeds."""
    return sharing.means([thresholds(run) | sharing.steady(run) for run in runs])


def thresholds(run: series.Run, sending: float = 0) -> dict[str, float]:
    """Min_Thresh_Reno in BDP, and K over it, both with what the link is `sending` beside."""
    minimum, threshold = (sharing.setting(run, name) + sending for name in ("drop_min", "mark_min"))
    return {"minimum": minimum, "relative": round(threshold / minimum, 3)}


def plot(table: pl.DataFrame) -> ggplot:
    """A panel per measure, a line per Min_Thresh_Reno; dotted: equal shares."""
    named = table.with_columns(threshold=sharing.label("minimum", "{} BDP"))
    drawn: ggplot = sharing.draw(named, "relative", "threshold", PANELS) + labs(
        x="K / Min_Thresh_Reno",
        y="",
        color="Min_Thresh_Reno",
        shape="Min_Thresh_Reno",
        fill="Min_Thresh_Reno",
    )
    return drawn


def equal_for(table: pl.DataFrame) -> float | None:
    """The share of minimum thresholds that have some K with equal shares."""
    found = [
        sharing.equal_sharing(rows, "relative") is not None for _, rows in table.group_by("minimum")
    ]
    return sum(found) / len(found)


def starving(table: pl.DataFrame, beyond: float) -> Extreme | None:
    """The smaller of the ratio and its inverse, least over all settings with K from some multiple
    on."""
    chosen = table.filter(pl.col("relative") >= beyond)
    either = chosen.select("minimum", "relative", "ratio", inverse=1 / pl.col("ratio"))
    return least(either.unpivot(index=["minimum", "relative"]), "value")


def rises(table: pl.DataFrame, measure: str) -> Extreme | None:
    """Spearman's correlation of a measure with K, the least over the minimum thresholds."""
    return sharing.rise(table, "relative", "minimum", measure)


def nearest(table: pl.DataFrame) -> Extreme | None:
    """For each minimum threshold the ratio, or its inverse, that is nearest to 1 of those that were
    measured; the least of these."""
    ratio = pl.min_horizontal("ratio", 1 / pl.col("ratio"))
    return least(table.group_by("minimum").agg(ratio.max()), "ratio")


METRICS = (equal_for, starving, rises, nearest)
