"""Section 2.3: how far apart acknowledgements are in slow start."""

from collections.abc import Sequence

import polars as pl
from plotnine import ggplot

from pipelines.flow_startup import drawing, transients
from sandglass.papers.verdicts import scalar
from sandglass.results import series

MSS = 1448
BEFORE, AFTER = "before the link is full", "after"


def table(runs: Sequence[series.Run]) -> pl.DataFrame:
    """One row per RTT and `phase`: `acks`, how many gaps there are between ACKs of one round trip;
    `ratio`, a gap over what the link takes to send the data that the later ACK acknowledges, the
    median."""
    return pl.concat([_gaps(run) for run in runs]).sort("rtt_ms", "phase")


def _gaps(run: series.Run) -> pl.DataFrame:
    rtt_ms = run.time_ns("experiment.rtt") / 1e6
    data = transients.rounds(run)
    windows = data.group_by("round").agg(window=pl.len())
    bits_per_byte_sent = 8 * transients.PACKET_BYTES / MSS
    acks = (
        run.records("acks")
        .sort("time_ns")
        .collect()
        .select(
            round=((pl.col("time_ns") - int(data["enqueue_ns"][0])) / 1e6 // rtt_ms).cast(pl.Int64),
            gap_us=pl.col("time_ns").diff() / 1e3,
            # a row has the state before its ACK
            bytes=(pl.col("bytes_acked").shift(-1) - pl.col("bytes_acked")).cast(pl.Int64),
        )
        # the first of a round trip comes after an idle time
        .filter((pl.col("round") == pl.col("round").shift(1)) & (pl.col("bytes") > 0))
    )
    phase = pl.when(pl.col("window") > transients.bdp_packets(run)).then(pl.lit(AFTER))
    return (
        acks.join(windows, on="round")
        .group_by(phase.otherwise(pl.lit(BEFORE)).alias("phase"))
        .agg(
            acks=pl.len(),
            ratio=(
                pl.col("gap_us")
                / (pl.col("bytes") * bits_per_byte_sent / transients.rate_mbit(run))
            ).median(),
        )
        .select(pl.lit(rtt_ms).alias("rtt_ms"), "phase", "acks", "ratio")
    )


def plot(table: pl.DataFrame) -> ggplot:
    """Ratios against the RTT."""
    shown = drawing.measures(table, "rtt_ms", "phase", {"ratio": "ACKs' gaps"})
    return drawing.lines(shown, "Base RTT (ms)", "Over the data's transmission", log_x=True)


def gap_ratio(table: pl.DataFrame, phase: str, most: bool) -> float | None:
    """The median gap over the transmission time; the least or largest over RTTs."""
    ratios = table.filter(phase=phase)["ratio"]
    return scalar(ratios.max() if most else ratios.min())


METRICS = (gap_ratio,)
