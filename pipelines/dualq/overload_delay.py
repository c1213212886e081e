"""Delays, marks and losses under unresponsive datagrams."""

import polars as pl
from plotnine import (
    aes,
    facet_grid,
    geom_line,
    geom_point,
    ggplot,
    labs,
    scale_color_manual,
    scale_y_log10,
)

from pipelines.dualq import overload
from sandglass.results import style

table = overload.table
METRICS = (overload.least, overload.most, overload.coupling_error)
SHOWN = {"qdelay_l_mean_ms": "L", "qdelay_c_mean_ms": "C"}


def plot(table: pl.DataFrame) -> ggplot:
    """Mean queueing delays against the load; rings: published."""
    shown = table.filter(pl.col("quantity").is_in([*SHOWN])).with_columns(
        who=pl.col("quantity").replace_strict(SHOWN, return_dtype=pl.Enum([*SHOWN.values()]))
    )
    drawn: ggplot = (
        ggplot(shown, aes("udp_mbit", "ours", color="who"))
        + facet_grid("run", "udp_ecn")
        + geom_line()
        + geom_point(aes(y="published"), shape="o", fill="none", size=2, na_rm=True)
        + scale_y_log10()
        + scale_color_manual(style.PALETTE)
        + labs(x="Load of datagrams (Mb/s of payload)", y="Mean queueing delay (ms)", color="")
    )
    return drawn
