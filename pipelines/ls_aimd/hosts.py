"""The table of delays at base RTTs that are longer by what the thesis's hosts add."""

import polars as pl
from plotnine import (
    aes,
    annotate,
    facet_grid,
    geom_point,
    ggplot,
    labs,
    position_dodge,
    scale_color_manual,
    scale_shape_manual,
)

from pipelines.ls_aimd import delays, steady
from sandglass.results import style

SHOWN = ("mean", "sd", "p95", "p99")
WITHIN = 0.2
"""A quoted number agrees within a fifth."""
METRICS = (delays.departure, delays.agreeing)

table = delays.table


def plot(table: pl.DataFrame) -> ggplot:
    """Ours over the thesis's, by statistic."""
    shown = (
        steady.labelled(table)
        .filter(pl.col("statistic").is_in(SHOWN), pl.col("thesis_us") > 0)
        .with_columns(
            ratio=pl.col("like_us") / pl.col("thesis_us"),
            statistic=pl.col("statistic").cast(pl.Enum(SHOWN)),
        )
    )
    drawn: ggplot = (
        ggplot(shown, aes("case", "ratio", color="sender", shape="sender"))
        + annotate(
            "rect",
            xmin=-float("inf"),
            xmax=float("inf"),
            ymin=1 - WITHIN,
            ymax=1 + WITHIN,
            alpha=0.15,
        )
        + facet_grid("marking", "statistic", scales="free_x")
        + geom_point(size=2, position=position_dodge(width=0.5))
        + scale_color_manual(style.PALETTE)
        + scale_shape_manual(style.SHAPES)
        + labs(x="Experiment", y="Delay over the thesis's", color="", shape="")
    )
    return drawn
