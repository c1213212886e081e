"""Section 2.5: what a smooth exit from slow start does to its queue, and what it costs."""

import math
from collections.abc import Sequence

import polars as pl
from plotnine import ggplot

from pipelines.flow_startup import drawing, transients
from sandglass.papers.verdicts import scalar
from sandglass.results import series

STANDARD = "Reno"
MEASURES = {
    "peak_bdp": "Longest queue until the link is full (BDP)",
    "round_trips": "Round trips to a window of one BDP",
}


def table(runs: Sequence[series.Run]) -> pl.DataFrame:
    """One row per sender and RTT, of one flow each.

    `bdp` is the path's bandwidth-delay product in packets, `round_trips` the whole base round trips
    before the first that brings so many. Of those, `peak` is the longest queue and `window` the
    packets that came in the round trip with it; `peak_bdp` and `peak_share` are `peak` over both.
    """
    return pl.DataFrame([_row(run) for run in runs]).sort("sender", "rtt_ms")


def _row(run: series.Run) -> dict[str, str | float]:
    rounds = transients.queue_rounds(transients.queue_changes(run))
    full = rounds.filter(pl.col("window") >= pl.col("bdp"))["round"][0]
    longest = rounds.filter(pl.col("round") < full).sort("peak", "round").row(-1, named=True)
    return {
        "sender": str(run.axes["sender"]),
        "rtt_ms": run.time_ns("experiment.rtt") / 1e6,
        "bdp": longest["bdp"],
        "round_trips": full,
        "peak": longest["peak"],
        "window": longest["window"],
        "peak_bdp": longest["peak"] / longest["bdp"],
        "peak_share": longest["peak"] / longest["window"],
    }


def plot(table: pl.DataFrame) -> ggplot:
    """Longest queue and round trips against the RTT, a line per sender."""
    shown = drawing.measures(table, "rtt_ms", "sender", MEASURES)
    return drawing.lines(shown, "Base RTT (ms)", "")


def _beside_standard(table: pl.DataFrame, sender: str) -> pl.DataFrame:
    """A sender's rows, and what Reno has at the same RTT under names that end in `_standard`."""
    standard = table.filter(sender=STANDARD)
    return table.filter(sender=sender).join(standard, on="rtt_ms", suffix="_standard")


def _peak_ratios(table: pl.DataFrame, sender: str) -> pl.DataFrame:
    ratio = pl.col("peak") / pl.col("peak_standard")
    return _beside_standard(table, sender).select("rtt_ms", ratio=ratio)


def mean_peak_ratio(table: pl.DataFrame, sender: str) -> float | None:
    """The longest queue over Reno's, the geometric mean over RTTs."""
    logarithm = scalar(_peak_ratios(table, sender)["ratio"].log().mean())
    return None if logarithm is None else math.exp(logarithm)


METRICS = (mean_peak_ratio,)
