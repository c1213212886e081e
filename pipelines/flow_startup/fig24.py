"""Fig. 2.4: queue transients while slow start probes for bandwidth."""

from collections.abc import Sequence

import polars as pl
from plotnine import aes, geom_hline, geom_step, ggplot, labs

from pipelines.flow_startup import transients
from sandglass.papers.verdicts import scalar
from sandglass.results import series


def table(runs: Sequence[series.Run]) -> pl.DataFrame:
    """One row per change of the queue: `time_ms` since the first packet, its `packets`, the `round`
    trip, the `window`, packets that came in this round, and the path's `bdp` in packets."""
    (run,) = runs
    return transients.queue_changes(run)


def plot(table: pl.DataFrame) -> ggplot:
    """The queue over time."""
    drawn: ggplot = (
        ggplot(table, aes("time_ms", "packets"))
        + geom_hline(yintercept=float(table["bdp"][0]), linetype="dotted", color="#666666")
        + geom_step()
        + labs(x="Time since the first packet (ms)", y="Queue (packets)")
    )
    return drawn


def _rounds(table: pl.DataFrame) -> pl.DataFrame:
    """Round trips before the link is full (transients.queue_rounds)."""
    return transients.queue_rounds(table.filter(pl.col("window") < pl.col("bdp")))


def least_growth(table: pl.DataFrame, round_from: int) -> float | None:
    """The least ratio of a round's peak to that of the round before."""
    peaks = _rounds(table).filter(pl.col("round") >= round_from - 1)["peak"]
    return scalar((peaks / peaks.shift(1)).drop_nulls().min())


def longest_drained(table: pl.DataFrame) -> float | None:
    """The largest of the rounds' shortest queues."""
    return scalar(_rounds(table)["least"].max())


def peak_share(table: pl.DataFrame, window_from: int) -> float | None:
    """A round's peak as a share of its window, the mean over rounds of at least so many packets."""
    chosen = _rounds(table).filter(pl.col("window") >= window_from)
    return scalar((chosen["peak"] / chosen["window"]).mean())


def standing_growth(table: pl.DataFrame) -> float | None:
    """Of rounds that bring more than the bandwidth-delay product: the least ratio of a round's
    shortest queue to that of the round before."""
    least = transients.queue_rounds(table.filter(pl.col("window") > pl.col("bdp")))["least"]
    return scalar((least / least.shift(1)).drop_nulls().min())


METRICS = (least_growth, longest_drained, peak_share, standing_growth)
