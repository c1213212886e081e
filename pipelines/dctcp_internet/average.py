"""Section II-A: the averages of the running AQM, computed again from the queue that packets met."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import polars as pl
from plotnine import aes, facet_wrap, geom_line, geom_point, ggplot, labs

from pipelines.dctcp_internet import sharing
from sandglass.results import series, style

KINDS = {"drop": "Reno: drop", "mark": "DCTCP: mark"}
SHOWN_S = (10, 11)


def table(runs: Sequence[series.Run]) -> pl.DataFrame:
    """One row per average (`kind`), `seed` and sample of the queue.

    `held_bytes` is the average that the qdisc told, `computed_bytes` what the one at the sample
    before and the packets in between give. Where one of these packets met an empty queue there is
    no row: idle times count apart.
    """
    return pl.concat([_samples(run, kind) for run in runs for kind in KINDS])


def _samples(run: series.Run, kind: str) -> pl.DataFrame:
    samples = series.queue_samples(run).sort("time_ns")
    # packets of one nanosecond came one after another, and each met the one before
    met = (
        series.forward(run).select("enqueue_ns", "queue_bytes").sort("enqueue_ns", "queue_bytes")
    ).collect()
    weight = float(run.field(f"experiment.bottleneck.queue.{kind}_weight"))
    ends = np.searchsorted(met["enqueue_ns"].to_numpy(), samples["time_ns"].to_numpy(), "right")
    times, held = samples["time_ns"].to_list(), samples[f"{kind}_avg"].to_list()
    rows = []
    for sample, (low, high) in enumerate(pairwise(ends.tolist())):
        queues = met["queue_bytes"][low:high].to_list()
        if times[sample] >= sharing.WARM_UP_NS and queues and min(queues) > 0:
            computed = averaged(held[sample], queues, weight)
            rows.append((times[sample + 1] / 1e9, held[sample + 1], computed))
    return pl.DataFrame(
        rows, schema=["time_s", "held_bytes", "computed_bytes"], orient="row"
    ).select(
        pl.lit(kind).alias("kind"), pl.lit(run.field("seed"), pl.Int64).alias("seed"), pl.all()
    )


def averaged(before: float, queues: Sequence[int], weight: float) -> float:
    """The weighted moving average after these queue lengths."""
    for queue in queues:
        before = (1 - weight) * before + weight * queue
    return before


def plot(table: pl.DataFrame) -> ggplot:
    """One second of both averages; line: as told, points: as computed."""
    shown = table.filter(
        (pl.col("seed") == pl.col("seed").min()) & pl.col("time_s").is_between(*SHOWN_S)
    ).with_columns(kind=pl.col("kind").replace_strict(KINDS))
    drawn: ggplot = (
        ggplot(shown, aes("time_s", "held_bytes"))
        + facet_wrap("kind")
        + geom_line(color="#666666")
        + geom_point(aes(y="computed_bytes"), size=0.7, color=style.PALETTE[0])
        + labs(x="Time (s)", y="Average queue (bytes)")
    )
    return drawn


def compared(table: pl.DataFrame) -> float | None:
    """At how many samples they were compared."""
    return float(table.height)


METRICS = (compared,)
