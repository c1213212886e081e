"""Why spreading a flow over the initial RTT helps where it does: how long that is."""

from collections.abc import Sequence

import polars as pl
from plotnine import ggplot

from pipelines.flow_startup import drawing, spreading
from sandglass.experiment import units
from sandglass.papers import ensemble
from sandglass.papers.verdicts import Extreme, largest, least
from sandglass.results import series

KEYS = ["rtt_ms", "flows"]


def table(runs: Sequence[series.Run]) -> pl.DataFrame:
    """The table of `spreading` for each base RTT."""
    rtt_ms = pl.col("rtt").map_elements(units.parse_time, pl.Int64) / 1e6
    found = series.along(runs, "rtt", spreading.table)
    return found.with_columns(rtt_ms=rtt_ms).drop("rtt").sort("sender", *KEYS)


def plot(table: pl.DataFrame) -> ggplot:
    """The call's longest delay against the RTT, a line per way to send."""
    shown = ensemble.numbered(table).select(
        ensemble.REPLICA,
        x="rtt_ms",
        value="longest_ms",
        line="sender",
        panel=pl.lit("One flow of 100 kB"),
    )
    return drawing.lines(shown, "Base RTT (ms)", "Longest one-way delay (ms)")


def spread_ratio(table: pl.DataFrame, column: str, rtt_up_to_ms: float) -> Extreme | None:
    """A measure when spread over that when sent at once, the least over RTTs up to one."""
    both = _pairs(table, column).filter(pl.col("rtt_ms") <= rtt_up_to_ms)
    return least(both.select("rtt_ms", ratio=pl.col("spread") / pl.col("at once")), "ratio")


def saved_rtts(table: pl.DataFrame, column: str) -> Extreme | None:
    """By how many base RTTs a measure in ms is less when spread, the largest over RTTs."""
    saved = (pl.col("at once") - pl.col("spread")) / pl.col("rtt_ms")
    return largest(_pairs(table, column).select("rtt_ms", saved=saved), "saved")


METRICS = (saved_rtts, spread_ratio)


def _pairs(table: pl.DataFrame, column: str) -> pl.DataFrame:
    return table.pivot("sender", index="rtt_ms", values=column)
