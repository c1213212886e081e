"""Section IV-C: what the weight of DCTCP's average does to how flows share."""

from collections.abc import Sequence

import polars as pl
from plotnine import (
    aes,
    geom_hline,
    geom_line,
    geom_point,
    ggplot,
    labs,
    scale_color_manual,
    scale_fill_manual,
    scale_x_log10,
    scale_y_log10,
)

from pipelines.dctcp_internet import sharing
from sandglass.papers import ensemble
from sandglass.papers.verdicts import Extreme, largest
from sandglass.results import series, style


def table(runs: Sequence[series.Run]) -> pl.DataFrame:
    """One row per `setting` (Max_Prob_DCTCP and Min_Thresh_DCTCP) and `weight`, and how the flows
    share, as `sharing.steady` has it."""
    rows = [
        {"setting": str(run.axes["setting"]), "weight": float(str(run.axes["weight"]))}
        | sharing.steady(run)
        for run in runs
    ]
    return pl.DataFrame(rows).sort("setting", "weight")


def plot(table: pl.DataFrame) -> ggplot:
    """The ratio of throughputs against the weight, of replicas their mean, a line per setting."""
    shown = ensemble.means(table, ["setting", "weight"], "ratio")
    drawn: ggplot = (
        ggplot(shown, aes("weight", "ratio", color="setting"))
        + geom_hline(yintercept=1, linetype="dotted")
        + ensemble.band(shown, "setting")
        + geom_line()
        + geom_point()
        + scale_x_log10()
        + scale_y_log10()
        + scale_color_manual(style.PALETTE)
        + scale_fill_manual(style.PALETTE)
        + labs(x="w_DCTCP", y=sharing.RATIO, color="Max_Prob, Min_Thresh")
    )
    return drawn


def farthest_apart(table: pl.DataFrame) -> Extreme | None:
    """The ratio of throughputs with one weight over that with another, largest over all pairs of
    weights, and over the settings."""
    own = table.select("setting", "weight", "ratio")
    pairs = own.join(own, on="setting", suffix="_over").filter(
        pl.col("weight") != pl.col("weight_over")
    )
    quotients = pairs.select(
        "setting", "weight", "weight_over", quotient=pl.col("ratio") / pl.col("ratio_over")
    )
    return largest(quotients, "quotient")


METRICS = (farthest_apart,)
