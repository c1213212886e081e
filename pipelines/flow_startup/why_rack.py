"""Why RED needs few timeouts: senders that find a lost retransmission."""

from collections.abc import Sequence

import polars as pl
from plotnine import (
    aes,
    facet_wrap,
    geom_line,
    geom_point,
    ggplot,
    labs,
    scale_color_manual,
    scale_shape_manual,
    scale_x_log10,
)

from pipelines.flow_startup import pub2
from sandglass.results import series, style


def table(runs: Sequence[series.Run]) -> pl.DataFrame:
    """Publication II's table for each `recovery`."""
    return series.along(runs, "recovery", pub2.table)


def plot(table: pl.DataFrame) -> ggplot:
    """Timeouts against the number of flows, a panel per buffer, a line per recovery."""
    buffers = [f"{size} packets" for size in table["buffer"].unique().sort()]
    shown = table.with_columns(panel=pl.format("{} packets", "buffer").cast(pl.Enum(buffers)))
    drawn: ggplot = (
        ggplot(shown, aes("flows", "rtos", color="recovery", shape="recovery"))
        + facet_wrap("panel")
        + geom_line()
        + geom_point(size=2)
        + scale_x_log10(breaks=[1, 2, 4, 8, 16])
        + scale_color_manual(style.PALETTE)
        + scale_shape_manual(style.SHAPES)
        + labs(x="Parallel flows", y="Timeouts in a transaction", color="", shape="")
    )
    return drawn


def least_cut(table: pl.DataFrame, recovery: str, column: str) -> float | None:
    """With one recovery, the smallest value of a column over the buffers and numbers of flows at
    which the average rose above the maximum threshold."""
    return pub2.least_cut(table.filter(recovery=recovery), "Recommended RED", column)


METRICS = (least_cut,)
