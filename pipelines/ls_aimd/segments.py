"""Each ACK with the segment that it acknowledges last, and what the sender became by it."""

import polars as pl

from pipelines.ls_aimd import steady
from sandglass.results import series

CE = 3
"""The ECN field of a marked packet."""
NEXT = (
    *("bytes_acked", "delivered_packets", "delivered_ce_packets"),
    *("window_bytes", "threshold_bytes"),
)
"""Of `acks`: what an ACK changes. The record has a sender's state as the ACK finds it."""


def acks(run: series.Run) -> pl.DataFrame:
    """The ACKs of all flows, those of a flow in order of time, with the columns `new_...` of NEXT
    that they leave behind. The last one of a flow is left out."""
    frame = (
        run.records("acks")
        .filter(pl.col("flow") > 0)
        .sort("flow", "time_ns", maintain_order=True)
        .collect()
    )
    # only LS-AIMD has columns of its own
    changed = (
        pl.col(name).shift(-1).over("flow").alias(f"new_{name}")
        for name in NEXT
        if name in frame.columns
    )
    return frame.with_columns(*changed).drop_nulls("new_bytes_acked")


def sent(run: series.Run) -> pl.DataFrame:
    """The segments with data of all flows, in order of time: `end`, the payload to their end."""
    offset = pl.col("seq").cast(pl.Int64) - pl.col("seq").cast(pl.Int64).first().over("flow")
    return (
        series.forward(run)
        .filter((pl.col("payload_bytes") > 0) & (pl.col("flow") > 0))
        .sort("flow", "enqueue_ns", maintain_order=True)  # those of one instant as they left
        .with_columns(end=offset % (1 << 32) + pl.col("payload_bytes").cast(pl.Int64))
        .collect()
    )


def path_ns(run: series.Run) -> pl.Expr:
    """What a segment's round trip is by the packets: its wait, its transmission, the base RTT."""
    transmission = pl.col("size_bytes") * (8e9 / steady.rate_bps(run))
    return pl.col("sojourn_ns") + transmission + steady.base_rtt_us(run) * 1e3


def acknowledged(run: series.Run) -> pl.DataFrame:
    """The ACKs with new data of the second half, each with the segment that it acknowledges last:
    `path_ns`, and `late_ns`, how much later than that the ACK came. That is how long it took the
    receiver to answer, since ACKs find no queue. `at_change` is whether the mark of the segment
    before that one, or of the one after it, was another than its own: DCTCP's receivers answer at
    once then (RFC 8257, Section 3.2)."""
    begin, end = steady.interval_ns(run)
    marked = pl.col("ecn_out") == CE
    before, after = (marked.shift(by) for by in (1, -1))
    segments = (
        sent(run)
        .unique(["flow", "end"], keep="last")
        .sort("flow", "end")
        .with_columns(
            at_change=((before != marked) | (after != marked)).fill_null(value=False).over("flow")
        )
        .select("flow", "end", "enqueue_ns", "payload_bytes", "at_change", path_ns=path_ns(run))
    )
    return (
        acks(run)
        .filter(
            (pl.col("new_bytes_acked") > pl.col("bytes_acked")),
            pl.col("time_ns").is_between(begin, end, closed="left"),
        )
        .with_columns(end=pl.col("new_bytes_acked").cast(pl.Int64) - 1)  # the SYN counts as a byte
        .join(segments, on=["flow", "end"], maintain_order="left")
        .with_columns(late_ns=pl.col("time_ns") - pl.col("enqueue_ns") - pl.col("path_ns"))
    )
