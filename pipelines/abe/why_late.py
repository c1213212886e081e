"""Why some flows of Figs. 12 and 13 do not converge: how long they have."""

import numpy as np
import polars as pl
from plotnine import aes, facet_wrap, geom_step, geom_vline, ggplot, labs, scale_color_manual

from pipelines.abe.why_noise import table
from sandglass.papers.verdicts import scalar
from sandglass.results import style

HORIZON_S = 60.0
"""What the flows of Figs. 12 and 13 have together: stated (IV-C), 90 s of which one is alone for
30."""


def plot(table: pl.DataFrame) -> ggplot:
    """The share of experiments that have converged by a time, a line per beta_ecn, a panel per
    congestion control. Dotted: how long those of Figs. 12 and 13 are."""
    shown = (
        table.with_columns(time_s=pl.col("convergence_s").fill_null(np.inf))
        .sort("time_s")
        .with_columns(
            share=pl.int_range(1, pl.len() + 1).over("control", "beta_ecn")
            / pl.len().over("control", "beta_ecn"),
            beta=pl.col("beta_ecn").cast(pl.String),
        )
        .filter(pl.col("time_s").is_finite())
    )
    drawn: ggplot = (
        ggplot(shown, aes("time_s", "share", color="beta"))
        + facet_wrap("control")
        + geom_vline(xintercept=HORIZON_S, linetype="dotted", color="#666666")
        + geom_step()
        + scale_color_manual(style.PALETTE)
        + labs(
            x="Since the second flow's entry (s)", y="Share that have converged", color="beta_ecn"
        )
    )
    return drawn


def never(table: pl.DataFrame, control: str, within_s: float) -> float | None:
    """The share of a control's experiments that have not converged within a time, in percent."""
    own = table.filter(pl.col("control") == control)
    late = pl.col("convergence_s").fill_null(np.inf) > within_s
    return scalar(own.select(late.mean() * 100).item())


METRICS = (never,)

__all__ = ["METRICS", "plot", "table"]
