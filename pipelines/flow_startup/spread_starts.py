"""Section 3.4: AQMs that use the queue's length, and slow start spread over the whole RTT."""

from collections.abc import Sequence

import polars as pl
from plotnine import ggplot

from pipelines.flow_startup import drawing, pub4
from sandglass.papers import ensemble
from sandglass.results import series

CASE = ["queue", "flows", "rtt_ms"]


def table(runs: Sequence[series.Run]) -> pl.DataFrame:
    """One row per queue, pacing, number of flows and RTT, with `peak_ms` of `pub4`."""
    return pub4.table(runs).select("senders", *CASE, "peak_ms").sort("senders", *CASE)


def plot(table: pl.DataFrame) -> ggplot:
    """The longest wait over that without pacing against the RTT, mean over numbers of flows; a line
    per pacing and a panel per queue."""
    numbered = ensemble.numbered(table)
    ratios = pl.concat(
        pub4.pacing_ratios(numbered, [*CASE, ensemble.REPLICA], senders).with_columns(
            senders=pl.lit(senders)
        )
        for senders in ("paced", "spread")
    )
    mean = ratios.group_by("senders", "queue", "rtt_ms", ensemble.REPLICA).agg(
        value=pl.col("ratio").mean()
    )
    shown = mean.select(ensemble.REPLICA, "value", x="rtt_ms", line="senders", panel="queue")
    return drawing.lines(shown, "Base RTT (ms)", "Longest wait (unpaced: 1)", log_x=True)


METRICS = (pub4.pacing_effect,)
