"""Why slow start grows by less than 1.5 at 80 ms: how many segments wait for the timer."""

from collections.abc import Sequence

import polars as pl
from plotnine import geom_hline, ggplot

from pipelines.flow_startup import delayed_ack_timer, drawing
from sandglass.papers import ensemble
from sandglass.results import series


def table(runs: Sequence[series.Run]) -> pl.DataFrame:
    """The table of `delayed_ack_timer` for each receiver's `window`."""
    return series.along(runs, "window", delayed_ack_timer.table).sort("window", "rtt_ms")


def plot(table: pl.DataFrame) -> ggplot:
    """The growth against the RTT, a line per window; dotted what delayed ACKs give at least and at
    most."""
    shown = ensemble.numbered(table).select(
        ensemble.REPLICA, x="rtt_ms", value="growth", line="window", panel=pl.lit("")
    )
    lines = drawing.lines(shown, "Base RTT (ms)", "Growth per round trip")
    drawn: ggplot = lines + geom_hline(yintercept=[1.5, 2], linetype="dotted", color="#666666")
    return drawn
