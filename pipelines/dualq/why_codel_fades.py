"""Why TCP has a little beside datagrams through CoDel: it fades in the capture's first part."""

from collections.abc import Sequence

import polars as pl
from plotnine import aes, geom_hline, geom_line, geom_point, ggplot, labs

from pipelines.dualq import capture, overload
from sandglass.results import series, style

WINDOW_S = 50


def table(runs: Sequence[series.Run]) -> pl.DataFrame:
    """One row per window of 50 s of the capture, by its first second `start_s`: what the datagrams
    get, `udp_mbit`."""
    return pl.concat([_windows(run) for run in runs]).sort("start_s")


def _windows(run: series.Run) -> pl.DataFrame:
    end_s = run.time_ns("experiment.duration") // capture.SECOND_NS
    start = pl.col("dequeue_ns") // capture.SECOND_NS
    start = (start - overload.LEAD_IN_S) // WINDOW_S * WINDOW_S + overload.LEAD_IN_S
    sent = (
        series.forward(run)
        .filter(protocol=capture.UDP)
        .group_by(start_s=start)
        .agg(udp_mbit=pl.col("size_bytes").cast(pl.Int64).sum() * 8 / WINDOW_S / 1e6)
    )
    whole = pl.col("start_s").is_between(overload.LEAD_IN_S, end_s - WINDOW_S)
    return sent.filter(whole).collect()


def plot(table: pl.DataFrame) -> ggplot:
    """What datagrams get over time; dotted: 99.9 Mb/s."""
    drawn: ggplot = (
        ggplot(table, aes("start_s", "udp_mbit"))
        + geom_hline(yintercept=99.9, linetype="dotted")
        + geom_line(color=style.PALETTE[0])
        + geom_point(color=style.PALETTE[0])
        + labs(x="Start of 50 s (s)", y="Datagrams (Mb/s)")
    )
    return drawn
