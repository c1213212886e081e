"""Why Fig. 4 differs: socket buffers that the kernel grows, or that bound nothing."""

from collections.abc import Sequence

import plotnine as p9
import polars as pl

from pipelines.abe import fig04
from sandglass.papers.verdicts import scalar
from sandglass.results import series, style


def table(runs: Sequence[series.Run]) -> pl.DataFrame:
    """Fig. 4's table for each size of the socket buffers."""
    return series.along(runs, "buffers", fig04.table)


def plot(table: pl.DataFrame) -> p9.ggplot:
    """Two panels: the utilisation of all saw-teeth, and the window that each slow start leaves."""
    names = {"utilisation": "Utilisation", "window_share": "Window left by slow start (BDP)"}
    shown = (
        table.unpivot(list(names), index="buffers", variable_name="of")
        .drop_nulls("value")
        .with_columns(panel=pl.col("of").replace_strict(names))
    )
    drawn: p9.ggplot = (
        p9.ggplot(shown, p9.aes("buffers", "value", color="buffers", shape="buffers"))
        + p9.facet_wrap("panel", scales="free_y")
        + p9.geom_point(alpha=0.6, size=2)
        + p9.scale_color_manual(style.PALETTE)
        + p9.scale_shape_manual(style.SHAPES)
        + p9.labs(x="", y="", color="Socket buffers", shape="Socket buffers")
    )
    return drawn


def model_error(table: pl.DataFrame, buffers: str) -> float | None:
    """How far the utilisation is from eq. (5), as a share of the capacity."""
    steady = table.filter((pl.col("buffers") == buffers) & (pl.col("part") == "steady"))
    return scalar((steady["utilisation"] - steady["model"]).abs().max())


def least_window(table: pl.DataFrame, buffers: str) -> float | None:
    """The smallest window that the back-offs after a slow start leave, as a share of the BDP."""
    return fig04.least_window(table.filter(pl.col("buffers") == buffers))


METRICS = (model_error, least_window)
