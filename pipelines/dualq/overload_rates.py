"""What unresponsive datagrams take, and what is left."""

import polars as pl
from plotnine import aes, facet_grid, geom_line, geom_point, ggplot, labs, scale_color_manual

from pipelines.dualq import overload
from sandglass.results import style

table = overload.table
METRICS = (overload.most_difference, overload.most_between_labels)
SHOWN = {"tput_udp_mbit": "datagrams", "tput_l_mbit": "each L", "tput_c_mbit": "each C"}


def plot(table: pl.DataFrame) -> ggplot:
    """Throughputs against the load; rings: published."""
    shown = table.filter(pl.col("quantity").is_in([*SHOWN])).with_columns(
        who=pl.col("quantity").replace_strict(SHOWN, return_dtype=pl.Enum([*SHOWN.values()]))
    )
    drawn: ggplot = (
        ggplot(shown, aes("udp_mbit", "ours", color="who"))
        + facet_grid("run", "udp_ecn")
        + geom_line()
        + geom_point(aes(y="published"), shape="o", fill="none", size=2, na_rm=True)
        + scale_color_manual(style.PALETTE)
        + labs(x="Load of datagrams (Mb/s of payload)", y="Throughput (Mb/s)", color="")
    )
    return drawn
