"""Section 2.4: from when on a dropped packet's round trip counts."""

from collections.abc import Sequence

import polars as pl
from plotnine import ggplot

from pipelines.flow_startup import drawing, transients
from sandglass.papers.verdicts import scalar
from sandglass.results import series

QUEUES = {"pub2-red": "Recommended RED", "pub2-fifo": "Taildrop"}
MEASURES = {"since_drop": "From the first drop", "since_next": "From the next packet sent on"}


def table(runs: Sequence[series.Run]) -> pl.DataFrame:
    """One row per queue and buffer (in packets), of one flow each.

    Times from the first drop to the sender's reduction, in base round trips: `since_drop` from the
    arrival that was dropped, `since_next` from when the link has sent the first later packet of the
    flow that was not dropped. `dropped` packets came before that one.
    """
    return pl.DataFrame([_row(run) for run in runs]).sort("queue", "buffer")


def _row(run: series.Run) -> dict[str, object]:
    rtt_ns = run.time_ns("experiment.rtt")
    arrivals = (
        series.forward(run)
        .filter(pl.col("payload_bytes") > 0)
        .sort("enqueue_ns")
        .select("enqueue_ns", "dequeue_ns", "drop_ns", "size_bytes")
        .collect()
    )
    first = arrivals.with_row_index().filter(pl.col("drop_ns").is_not_null()).row(0, named=True)
    later = arrivals.slice(first["index"] + 1).with_row_index()
    admitted = later.filter(pl.col("dequeue_ns").is_not_null()).row(0, named=True)
    sent_ns = admitted["dequeue_ns"] + admitted["size_bytes"] * 8e3 / transients.rate_mbit(run)
    reduced_ns = _reduced_ns(run.records("acks").sort("time_ns").collect())
    return {
        "queue": QUEUES[str(run.axes["experiment"])],
        "buffer": transients.buffer_packets(run),
        "dropped": 1 + admitted["index"],
        "since_drop": (reduced_ns - first["enqueue_ns"]) / rtt_ns,
        "since_next": (reduced_ns - sent_ns) / rtt_ns,
    }


def _reduced_ns(acks: pl.DataFrame) -> int:
    """When the sender took the ACK that made it set its threshold: a row has the state before its
    own, so it is the row before the first one with a threshold."""
    number = int(acks["ssthresh_packets"].is_not_null().arg_max() or 0)
    return int(acks["time_ns"][max(0, number - 1)])


def plot(table: pl.DataFrame) -> ggplot:
    """Both times against the buffer."""
    shown = drawing.measures(table, "buffer", "queue", MEASURES)
    return drawing.lines(shown, "Buffer (packets)", "Until the reduction (base RTTs)")


def feedback_rtts(table: pl.DataFrame, most: bool) -> float | None:
    """Round trips from the next packet sent on to the reduction; the least or largest."""
    return scalar(table["since_next"].max() if most else table["since_next"].min())


METRICS = (feedback_rtts,)
