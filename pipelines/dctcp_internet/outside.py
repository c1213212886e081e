"""Section IV-B: who has the link when K lies outside of Reno's two thresholds."""

import math
from collections.abc import Sequence

import polars as pl
from plotnine import aes, geom_hline, geom_line, geom_point, ggplot, labs, scale_color_manual

from pipelines.dctcp_internet import sharing
from pipelines.dctcp_internet.fig05 import thresholds
from sandglass.papers import ensemble
from sandglass.papers.verdicts import Extreme, least
from sandglass.results import series, style

ALMOST_ALL = 0.95


def table(runs: Sequence[series.Run]) -> pl.DataFrame:
    """One row per Min_Thresh_Reno (`minimum`, BDP) and `relative` = K / Min_Thresh_Reno: the shares
    of both flows' goodput that the `larger` and `reno` have."""
    rows = []
    for run in runs:
        flows = sharing.goodputs(run)
        reno = math.fsum(flows.filter("reno")["mbit"]) / math.fsum(flows["mbit"])
        rows.append(thresholds(run) | {"reno": reno, "larger": max(reno, 1 - reno)})
    return pl.DataFrame(rows).sort("minimum", "relative")


def plot(table: pl.DataFrame) -> ggplot:
    """Reno's share against K, a line per Min_Thresh_Reno and side; dotted: almost all."""
    shown = ensemble.means(table, ["minimum", "relative"], "reno").with_columns(
        threshold=sharing.label("minimum", "{} BDP"),
        line=pl.format("{} {}", "minimum", pl.col("relative") < 1),
    )
    drawn: ggplot = (
        ggplot(shown, aes("relative", "reno", color="threshold"))
        + geom_hline(yintercept=[1 - ALMOST_ALL, ALMOST_ALL], linetype="dotted")
        + geom_line(aes(group="line"))
        + geom_point()
        + scale_color_manual(style.PALETTE)
        + labs(x="K / Min_Thresh_Reno", y="Reno's share", color="Min_Thresh_Reno")
    )
    return drawn


def least_larger(table: pl.DataFrame, above: bool) -> Extreme | None:
    """The share of the larger flow, least over all settings with K below Reno's minimum threshold,
    or above its maximum one, three times that."""
    side = pl.col("relative") > 3 if above else pl.col("relative") < 1
    return least(table.filter(side).select("minimum", "relative", "larger"), "larger")


METRICS = (least_larger,)
