"""Section 2.3: what the receiver's window and its quick ACKs do in slow start."""

from collections.abc import Sequence

import polars as pl
from plotnine import ggplot

from pipelines.flow_startup import drawing, transients
from sandglass.papers.verdicts import scalar
from sandglass.results import series

MEASURES = {"flight_kb": "Largest flight (kB)", "per_packet": "ACKs per data packet"}


def table(runs: Sequence[series.Run]) -> pl.DataFrame:
    """One row per receiver's buffer and round trip in slow start: `packets` sent in it, `acks` that
    came in the round trip after it, `per_packet` these over those; `flight_kb`, the largest flight
    so far, payload."""
    return pl.concat([_rounds(run) for run in runs]).sort("buffer_kb", "round")


def _rounds(run: series.Run) -> pl.DataFrame:
    rtt_ns = run.time_ns("experiment.rtt")
    data = transients.rounds(run)
    first = int(data["enqueue_ns"][0])
    acks = (
        run.records("acks")
        .filter((pl.col("time_ns") >= first) & pl.col("ssthresh_packets").is_null())
        .sort("time_ns")
        .with_columns(round=(pl.col("time_ns") - first) // rtt_ns - 1)
        .collect()
    )
    counted = acks.group_by("round").agg(
        acks=pl.len(), flight_kb=pl.col("inflight_packets").max() * 1448 / 1e3
    )
    return (
        data.group_by("round")
        .agg(packets=pl.len())
        .join(counted, on="round")
        .sort("round")
        .head(-1)  # the last one may be cut short
        .select(
            pl.lit(_buffer_kb(run)).alias("buffer_kb"),
            "round",
            "packets",
            "acks",
            per_packet=pl.col("acks") / pl.col("packets"),
            flight_kb=pl.col("flight_kb").cum_max(),
        )
    )


def _buffer_kb(run: series.Run) -> float:
    sysctls = run.field("experiment.hosts.d1")["sysctls"]
    return int(str(sysctls["net.ipv4.tcp_rmem"]).split()[-1]) / 1e3


def plot(table: pl.DataFrame) -> ggplot:
    """Both measures against the round trip, a line per buffer."""
    named = table.with_columns(line=pl.format("{} kB", pl.col("buffer_kb").round(0).cast(pl.Int64)))
    return drawing.lines(drawing.measures(named, "round", "line", MEASURES), "Round trip", "")


def _of(table: pl.DataFrame, buffer_kb: float) -> pl.DataFrame:
    return table.filter((pl.col("buffer_kb") - buffer_kb).abs() < 1)


def acks_per_packet(
    table: pl.DataFrame, buffer_kb: float, round_from: int, round_to: int
) -> float | None:
    """ACKs over data packets, the least of some round trips."""
    chosen = _of(table, buffer_kb).filter(pl.col("round").is_between(round_from, round_to))
    return scalar(chosen["per_packet"].min())


METRICS = (acks_per_packet,)
