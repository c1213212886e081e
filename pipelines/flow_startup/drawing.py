"""What the figures of single sentences share: a line of means per case, with its interval."""

import plotnine as p9
import polars as pl

from sandglass.papers import ensemble
from sandglass.results import style


def lines(shown: pl.DataFrame, x: str, y: str, log_x: bool = False) -> p9.ggplot:
    """`value` against `x`, a line per `line` and a panel per `panel`; of replicas, the column
    `replica`, the mean with its interval. `x` and `y` are the axes' labels."""
    means = ensemble.means(shown, ["panel", "line", "x"], "value").sort("panel", "line", "x")
    drawn: p9.ggplot = (
        p9.ggplot(means, p9.aes("x", "value", color="line", shape="line", linetype="line"))
        + ensemble.band(means, "line")
        + p9.geom_line()
        + p9.geom_point(size=1.8)
        + p9.facet_wrap("panel", scales="free_y")
        + p9.scale_color_manual(style.PALETTE)
        + p9.scale_fill_manual(style.PALETTE)
        + p9.scale_shape_manual(style.SHAPES)
        + p9.scale_linetype_manual([*style.LINES, *style.LINES])
        + p9.labs(x=x, y=y, color="", fill="", shape="", linetype="")
    )
    return drawn + p9.scale_x_log10() if log_x else drawn


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
