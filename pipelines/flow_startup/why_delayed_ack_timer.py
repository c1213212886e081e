"""Why slow start grows by less than 1.5 at 80 ms: RTTs about twice the delayed-ACK timer."""

import polars as pl

from pipelines.flow_startup import delayed_ack_timer
from sandglass.papers.verdicts import scalar

table = delayed_ack_timer.table
plot = delayed_ack_timer.plot


def least_apart(table: pl.DataFrame, rtt_ms: float, by_ms: float) -> float | None:
    """The growth, the least over RTTs that are so far or farther from one."""
    return scalar(table.filter((pl.col("rtt_ms") - rtt_ms).abs() >= by_ms)["growth"].min())


def over_least_apart(table: pl.DataFrame, rtt_ms: float, by_ms: float) -> float | None:
    """The growth at an RTT over that."""
    own, least = (
        scalar(table.filter(rtt_ms=rtt_ms)["growth"].max()),
        least_apart(table, rtt_ms, by_ms),
    )
    return None if own is None or not least else own / least


METRICS = (least_apart, over_least_apart)
