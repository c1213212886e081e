"""Section 3.4: AQMs that use the queue's length, and slow start spread over the whole RTT."""

from collections.abc import Sequence

import polars as pl
from plotnine import ggplot

from pipelines.flow_startup import drawing, pub4
from sandglass.papers import ensemble
from sandglass.papers.verdicts import scalar
from sandglass.results import series

CASE = ["queue", "flows", "rtt_ms"]


def table(runs: Sequence[series.Run]) -> pl.DataFrame:
    """One row per queue, pacing, number of flows and RTT, with `peak_ms` of `pub4`."""
    return pub4.table(runs).select("senders", *CASE, "peak_ms").sort("senders", *CASE)


def plot(table: pl.DataFrame) -> ggplot:
    """The longest wait over that without pacing against the RTT, mean over numbers of flows; a line
    per pacing and a panel per queue."""
    case = [*CASE, ensemble.REPLICA]
    numbered = ensemble.numbered(table)
    bursts = numbered.filter(senders="unpaced").select(*case, bursts_ms="peak_ms")
    ratios = numbered.filter(pl.col("senders") != "unpaced").join(bursts, on=case)
    mean = ratios.group_by("senders", "queue", "rtt_ms", ensemble.REPLICA).agg(
        value=(pl.col("peak_ms") / pl.col("bursts_ms")).mean()
    )
    shown = mean.select(ensemble.REPLICA, "value", x="rtt_ms", line="senders", panel="queue")
    return drawing.lines(shown, "Base RTT (ms)", "Longest wait (unpaced: 1)", log_x=True)


def better_pacing(table: pl.DataFrame, queue: str, rtt_from: float) -> float | None:
    """The longest wait of spread senders over that of paced ones, mean over flows and RTTs."""
    own = table.filter(pl.col("rtt_ms") >= rtt_from, queue=queue)
    spread, paced = (own.filter(senders=each) for each in ("spread", "paced"))
    both = spread.join(paced, on=CASE, suffix="_paced")
    return scalar((both["peak_ms"] / both["peak_ms_paced"]).mean())


METRICS = (better_pacing, pub4.pacing_effect)
