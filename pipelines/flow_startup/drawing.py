"""What the figures of single sentences share: a line of means per case, with its interval."""

import polars as pl
from plotnine import (
    aes,
    facet_wrap,
    geom_line,
    geom_point,
    ggplot,
    labs,
    scale_color_manual,
    scale_fill_manual,
    scale_linetype_manual,
    scale_shape_manual,
    scale_x_log10,
)

from sandglass.papers import ensemble
from sandglass.results import style


def lines(shown: pl.DataFrame, x: str, y: str, log_x: bool = False) -> ggplot:
    """`value` against `x`, a line per `line` and a panel per `panel`; of replicas, the column
    `replica`, the mean with its interval. `x` and `y` are the axes' labels."""
    means = ensemble.means(shown, ["panel", "line", "x"], "value").sort("panel", "line", "x")
    drawn: ggplot = (
        ggplot(means, aes("x", "value", color="line", shape="line", linetype="line"))
        + ensemble.band(means, "line")
        + geom_line()
        + geom_point(size=1.8)
        + facet_wrap("panel", scales="free_y")
        + scale_color_manual(style.PALETTE)
        + scale_fill_manual(style.PALETTE)
        + scale_shape_manual(style.SHAPES)
        + scale_linetype_manual([*style.LINES, *style.LINES])
        + labs(x=x, y=y, color="", fill="", shape="", linetype="")
    )
    return drawn + scale_x_log10() if log_x else drawn


def measures(table: pl.DataFrame, x: str, line: str, names: dict[str, str]) -> pl.DataFrame:
    """A table as `lines` takes it: a panel per measure, a column of it, under its name."""
    labels = table[line].cast(pl.String)
    return ensemble.measures(table, names, [x, line]).select(
        ensemble.REPLICA,
        "value",
        x=pl.col(x),
        line=pl.col(line).cast(pl.String).cast(style.in_order(labels)),
        panel=pl.col("measure"),
    )
