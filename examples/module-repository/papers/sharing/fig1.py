"""Fig. 1: goodput of a gaimd flow and of a Reno flow against the base RTT."""

from collections.abc import Sequence

import polars as pl
from plotnine import aes, geom_line, geom_point, ggplot, labs, scale_color_manual

from sandglass.experiment import units
from sandglass.results import series, style


def table(runs: Sequence[series.Run]) -> pl.DataFrame:
    """One row per run: goodputs in Mb/s."""
    found = series.tidy(runs, {"gaimd": "flows.0.goodput_mbit", "reno": "flows.1.goodput_mbit"})
    rtt_ms = pl.col("rtt").map_elements(units.parse_time, pl.Int64) / 1e6
    return found.select(rtt_ms.alias("rtt_ms"), "gaimd", "reno").sort("rtt_ms")


def plot(table: pl.DataFrame) -> ggplot:
    """A line per flow."""
    shown = table.unpivot(index="rtt_ms", variable_name="flow", value_name="goodput")
    drawn: ggplot = (
        ggplot(shown, aes("rtt_ms", "goodput", color="flow"))
        + geom_line()
        + geom_point()
        + scale_color_manual(style.PALETTE)
        + labs(x="Base RTT (ms)", y="Goodput (Mb/s)", color="")
    )
    return drawn
