"""Section IV-C: what the weight of DCTCP's average does to how flows share."""

from collections.abc import Sequence

import plotnine as p9
import polars as pl

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


def plot(table: pl.DataFrame) -> p9.ggplot:
    """The ratio of throughputs against the weight, of replicas their mean, a line per setting."""
    shown = ensemble.means(table, ["setting", "weight"], "ratio")
    drawn: p9.ggplot = (
        p9.ggplot(shown, p9.aes("weight", "ratio", color="setting"))
        + p9.geom_hline(yintercept=1, linetype="dotted")
        + ensemble.band(shown, "setting")
        + p9.geom_line()
        + p9.geom_point()
        + p9.scale_x_log10()
        + p9.scale_y_log10()
        + p9.scale_color_manual(style.PALETTE)
        + p9.scale_fill_manual(style.PALETTE)
        + p9.labs(x="w_DCTCP", y=sharing.RATIO, color="Max_Prob, Min_Thresh")
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
