"""A number for each run, drawn as the thesis does: by experiment, a panel per marking scheme."""

import plotnine as p9
import polars as pl

from pipelines.ls_aimd import steady
from sandglass.results import style


def drawn(table: pl.DataFrame, column: str, label: str) -> p9.ggplot:
    """Points by experiment, coloured by sender."""
    plot: p9.ggplot = (
        p9.ggplot(steady.labelled(table), p9.aes("case", column, color="sender", shape="sender"))
        + p9.facet_wrap("marking", ncol=1)
        + p9.geom_point(size=2, position=p9.position_dodge(width=0.5))
        + p9.scale_color_manual(style.PALETTE)
        + p9.scale_shape_manual(style.SHAPES)
        + p9.labs(x="Experiment", y=label, color="", shape="")
    )
    return plot
