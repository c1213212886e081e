"""A number for each run, drawn as the thesis does: by experiment, a panel per marking scheme."""

import polars as pl
from plotnine import (
    aes,
    facet_wrap,
    geom_point,
    ggplot,
    labs,
    position_dodge,
    scale_color_manual,
    scale_shape_manual,
)

from pipelines.ls_aimd import steady
from sandglass.results import style


def drawn(table: pl.DataFrame, column: str, label: str) -> ggplot:
    """Points by experiment, coloured by sender."""
    plot: ggplot = (
        ggplot(steady.labelled(table), aes("case", column, color="sender", shape="sender"))
        + facet_wrap("marking", ncol=1)
        + geom_point(size=2, position=position_dodge(width=0.5))
        + scale_color_manual(style.PALETTE)
        + scale_shape_manual(style.SHAPES)
        + labs(x="Experiment", y=label, color="", shape="")
    )
    return plot
