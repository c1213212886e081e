"""Fig. 9: marking slopes with equal shares, against equation (3)."""

from collections.abc import Sequence

import polars as pl
from plotnine import aes, geom_line, geom_linerange, geom_point, ggplot, labs

from pipelines.dctcp_internet import slopes
from sandglass.papers import ensemble, verdicts
from sandglass.papers.verdicts import Extreme, scalar
from sandglass.results import series, style

CURVE_POINTS = 80


def table(runs: Sequence[series.Run]) -> pl.DataFrame:
    """One row per ratio of maximum probabilities: see `slopes.ridge`."""
    return slopes.ridge(slopes.table(runs))


def plot(table: pl.DataFrame) -> ggplot:
    """Points are measured, with the interval of replicas; the line is equation (3)."""
    most = scalar(table["relative"].max()) or 1.0
    curve = pl.DataFrame(
        [
            (relative, slopes.rule(relative))
            for relative in (1 + (most - 1) * n / CURVE_POINTS for n in range(CURVE_POINTS + 1))
        ],
        schema=["relative", "rule"],
        orient="row",
    )
    shown = ensemble.means(table, ["relative"], "measured")
    drawn: ggplot = (
        ggplot(shown, aes("relative", "measured"))
        + geom_line(aes(y="rule"), data=curve, color="#666666")
        + geom_linerange(
            aes(ymin="low", ymax="high"), shown.drop_nulls("low"), color=style.PALETTE[0]
        )
        + geom_point(size=2, color=style.PALETTE[0])
        + labs(x="Max_Prob_DCTCP / Max_Prob_Reno", y="Min_Thresh_DCTCP / Min_Thresh_Reno")
    )
    return drawn


def farthest(table: pl.DataFrame) -> Extreme | None:
    """The largest distance of the ridge from equation (3), in Reno's minimum threshold; 1 where no
    minimum threshold gave equal shares."""
    off = (pl.col("measured") - pl.col("rule")).fill_null(1)
    return verdicts.farthest(table.select("relative", off=off), "off")


METRICS = (farthest,)
