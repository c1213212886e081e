"""Section 3.5: what AQMs do about initial windows, beside an audio call."""

from collections.abc import Sequence

import polars as pl
from plotnine import ggplot

from pipelines.flow_startup import drawing, pub1, transients
from sandglass.papers import ensemble
from sandglass.papers.verdicts import Extreme, largest, least
from sandglass.results import series

CASE = ["rate_mbit", "initial_window", "flows"]
UNMANAGED = "FIFO"


def table(runs: Sequence[series.Run]) -> pl.DataFrame:
    """One row per queue, rate, initial window and number of web flows: `first_rtt_ms` of `pub1`."""
    found = series.along(runs, "queue", lambda own: transients.of_each_rate(own, pub1.table))
    return found.select("queue", *CASE, "first_rtt_ms").sort("queue", *CASE)


def plot(table: pl.DataFrame) -> ggplot:
    """The delay over that with a FIFO against the number of flows, a line per queue and a panel per
    rate and initial window."""
    shown = _over_fifo(ensemble.numbered(table), [*CASE, ensemble.REPLICA]).select(
        ensemble.REPLICA,
        x="flows",
        value="ratio",
        line="queue",
        panel=pl.format(
            "{} Mb/s, initial window {}", pl.col("rate_mbit").cast(int), "initial_window"
        ),
    )
    return drawing.lines(shown, "Web flows", "Longest delay in the first RTT (FIFO: 1)")


def least_ratio(table: pl.DataFrame, queues: Sequence[str]) -> Extreme | None:
    """The call's longest delay in the first RTT over that with a FIFO, the least over cases and
    queues."""
    ratios = _over_fifo(table, CASE).filter(pl.col("queue").is_in(queues))
    return least(ratios.select("queue", *CASE, "ratio"), "ratio")


def largest_ratio(table: pl.DataFrame, queue: str) -> Extreme | None:
    """The same with one queue, the largest over cases."""
    return largest(_over_fifo(table, CASE).filter(queue=queue).select(*CASE, "ratio"), "ratio")


METRICS = (largest_ratio, least_ratio)


def _over_fifo(table: pl.DataFrame, case: list[str]) -> pl.DataFrame:
    fifo = table.filter(queue=UNMANAGED).select(*case, fifo_ms="first_rtt_ms")
    both = table.filter(pl.col("queue") != UNMANAGED).join(fifo, on=case)
    return both.with_columns(ratio=pl.col("first_rtt_ms") / pl.col("fifo_ms"))
