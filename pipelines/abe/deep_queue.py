"""Sections I-A and III: an ABE flow through an AQM that lets its queue grow."""

from collections.abc import Sequence

import polars as pl
from plotnine import ggplot

from pipelines.abe import drawing, settings
from sandglass.papers.verdicts import Extreme, largest
from sandglass.results import series

AFTER_NS = 20_000_000_000
"""Slow start and what its overshoot leaves are over by then."""
REDUCING = ("CWR", "Recovery", "Loss")


def table(runs: Sequence[series.Run]) -> pl.DataFrame:
    """One row per queue and beta_ecn: after slow start, `delay_ms`, the 95th percentile of the
    queueing delay, and `back_offs` a minute."""
    return pl.DataFrame([_row(run) for run in runs]).sort("queue", "beta")


def back_offs(acks: pl.DataFrame) -> pl.Series:
    """When a sender reduced its window, ns, of acks in order of time.

    One reduction may leave the same threshold as the one before, and one may follow another without
    an acknowledgement between them in which the sender has recovered.
    """
    reducing = pl.col("ca_state").is_in(REDUCING)
    begins = reducing & ~reducing.shift(1, fill_value=False)
    changes = pl.col("ssthresh_packets").diff().fill_null(0) != 0
    return acks.filter(begins | changes)["time_ns"]


def _row(run: series.Run) -> dict[str, str | float | None]:
    cuts = back_offs(run.records("acks").sort("time_ns").collect())
    late = (
        series.forward(run)
        .filter(pl.col("enqueue_ns") >= AFTER_NS)
        .select(delay_ms=(pl.col("sojourn_ns") / 1e6).quantile(0.95, "nearest"))
        .collect()
    )
    minutes = (settings.duration_ns(run) - AFTER_NS) / 60e9
    return {
        "queue": str(run.axes["deep"]),
        "beta": settings.beta_ecn(run),
        "back_offs": cuts.filter(cuts >= AFTER_NS).len() / minutes,
        "delay_ms": float(late["delay_ms"][0]),
    }


def plot(table: pl.DataFrame) -> ggplot:
    """Delay and back-offs against beta_ecn, a line per queue."""
    return drawing.panels(
        table,
        {"delay_ms": "95th percentile of delay (ms)", "back_offs": "Back-offs a minute"},
        ("beta", "beta_ecn"),
        ("queue", "AQM"),
    )


def delay_over(table: pl.DataFrame, than: float) -> Extreme | None:
    """The 95th percentile of delay over that with another beta_ecn; the largest over the queues and
    the other beta_ecn."""
    other = table.filter(pl.col("beta") == than)
    both = table.filter(pl.col("beta") > than).join(other, on="queue", suffix="_than")
    ratio = pl.col("delay_ms") / pl.col("delay_ms_than")
    return largest(both.select("queue", "beta", ratio=ratio), "ratio")


METRICS = (delay_over,)
