"""Section 1.1: how much of the load a router's queue shows while slow start fills the link."""

from collections.abc import Sequence

import polars as pl
from plotnine import ggplot

from pipelines.flow_startup import drawing, transients
from sandglass.papers.verdicts import scalar
from sandglass.results import series

MEASURES = {"peak": "Longest queue over packets", "mean": "Mean queue over packets"}


def table(runs: Sequence[series.Run]) -> pl.DataFrame:
    """One row per way to send, RTT and round trip before the link is full: `window`, the data
    packets that came in it, and over them the longest queue in it, `peak`, and the `mean` queue."""
    return pl.concat([_shares(run) for run in runs]).sort("sender", "rtt_ms", "round")


def _shares(run: series.Run) -> pl.DataFrame:
    rtt_ns = run.time_ns("experiment.rtt")
    data = transients.rounds(run)
    windows = data.group_by("round").agg(window=pl.len()).sort("round")
    full = windows.filter(pl.col("window") > transients.bdp_packets(run))["round"].min()
    assert isinstance(full, int)  # slow start through an endless buffer fills every link
    changes = series.backlog(series.forward(run)).with_columns(
        pl.col("time_ns") - int(data["enqueue_ns"][0])
    )
    queue = series.binned(
        changes.filter(pl.col("time_ns") >= 0), rtt_ns, (full + 1) * rtt_ns
    ).select(round=pl.col("start_ns") // rtt_ns, mean="mean", peak="largest")
    return (
        windows.filter(pl.col("round") < full)
        .join(queue, on="round")
        .select(
            pl.lit(str(run.axes["sender"])).alias("sender"),
            pl.lit(rtt_ns / 1e6).alias("rtt_ms"),
            "round",
            "window",
            peak=pl.col("peak") / pl.col("window"),
            mean=pl.col("mean") / pl.col("window"),
        )
    )


def plot(table: pl.DataFrame) -> ggplot:
    """The mean over round trips of both shares against the RTT."""
    means = table.group_by("sender", "rtt_ms").agg(pl.mean(*MEASURES))
    shown = drawing.measures(means, "rtt_ms", "sender", MEASURES)
    return drawing.lines(shown, "Base RTT (ms)", "", log_x=True)


def out_of_view(table: pl.DataFrame, sender: str, column: str) -> float | None:
    """The share of a round trip's packets that the queue does not show, by its longest or mean
    length; the mean over round trips, the least over RTTs."""
    shares = table.filter(sender=sender).group_by("rtt_ms").agg(pl.mean(column))[column]
    return scalar((1 - shares).min())


METRICS = (out_of_view,)
