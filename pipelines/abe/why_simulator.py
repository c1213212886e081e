"""Why Fig. 17's windows differ: how a sender cuts, and how long a packet takes."""

import polars as pl
from plotnine import (
    aes,
    coord_flip,
    facet_wrap,
    geom_jitter,
    ggplot,
    labs,
    scale_color_manual,
    scale_shape_manual,
)

from pipelines.abe.short_flow import less, of, table
from sandglass.papers import ensemble
from sandglass.results import style

__all__ = ["METRICS", "plot", "table"]

MEASURES = {
    "cuts": "reductions",
    "cut_to": "window left (packets)",
    "fct_s": "completion (s)",
}

METRICS = (less, of)


def plot(table: pl.DataFrame) -> ggplot:
    """Three measures, a dot per seed, a row for each thing that is changed."""
    shown = ensemble.measures(table, MEASURES, ["varied", "beta_ecn", "seed"]).with_columns(
        beta=pl.col("beta_ecn").cast(pl.String)
    )
    drawn: ggplot = (
        ggplot(shown, aes("varied", "value", color="beta", shape="beta"))
        + facet_wrap("measure", scales="free_x", nrow=1)
        + geom_jitter(width=0.2, height=0, alpha=0.5, random_state=1)
        + coord_flip()
        + scale_color_manual(style.PALETTE)
        + scale_shape_manual(style.SHAPES)
        + labs(x="", y="", color="beta_ecn", shape="beta_ecn")
    )
    return drawn
