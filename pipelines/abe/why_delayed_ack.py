"""Why Fig. 7 differs through PIE: a receiver that delays its acknowledgements, or answers each."""

from collections.abc import Sequence

import polars as pl
from plotnine import aes, facet_wrap, geom_line, ggplot, labs, scale_color_manual, scale_x_log10

from pipelines.abe import departures
from sandglass.results import series, style


def table(runs: Sequence[series.Run]) -> pl.DataFrame:
    """Fig. 7's table for each receiver."""
    return series.along(runs, "receiver", departures.table)


def plot(table: pl.DataFrame) -> ggplot:
    """A panel per receiver, a line per beta_ecn but 0.5."""
    shown = table.filter(pl.col("gain_percent").is_not_null(), pl.col("beta") != 0.5).with_columns(
        factor=pl.col("beta").cast(pl.String)
    )
    drawn: ggplot = (
        ggplot(shown, aes("time_s", "gain_percent", color="factor"))
        + facet_wrap("receiver")
        + geom_line()
        + scale_x_log10()
        + scale_color_manual(style.PALETTE)
        + labs(x="Time (s)", y="More bytes departed (%)", color="beta_ecn")
    )
    return drawn
