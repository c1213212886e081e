"""Why Fig. 17's windows differ: how a sender cuts, and how long a packet takes."""

import plotnine as p9
import polars as pl

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


def plot(table: pl.DataFrame) -> p9.ggplot:
    """Three measures, a dot per seed, a row for each thing that is changed."""
    shown = ensemble.measures(table, MEASURES, ["varied", "beta_ecn", "seed"]).with_columns(
        beta=pl.col("beta_ecn").cast(pl.String)
    )
    drawn: p9.ggplot = (
        p9.ggplot(shown, p9.aes("varied", "value", color="beta", shape="beta"))
        + p9.facet_wrap("measure", scales="free_x", nrow=1)
        + p9.geom_jitter(width=0.2, height=0, alpha=0.5, random_state=1)
        + p9.coord_flip()
        + p9.scale_color_manual(style.PALETTE)
        + p9.scale_shape_manual(style.SHAPES)
        + p9.labs(x="", y="", color="beta_ecn", shape="beta_ecn")
    )
    return drawn
