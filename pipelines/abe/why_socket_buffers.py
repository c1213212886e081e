"""Why Fig. 4 differs: socket buffers that the kernel grows, or that bound nothing."""

from collections.abc import Sequence

import plotnine as p9
import polars as pl

from pipelines.abe import fig04
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
