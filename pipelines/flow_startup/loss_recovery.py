"""Section 2.4: how many round trips NewReno and SACK take for an overshoot's losses."""

from collections.abc import Sequence

import polars as pl
from plotnine import ggplot

from pipelines.flow_startup import drawing, transients
from sandglass.results import series

MEASURES = {"retransmitted": "Segments retransmitted", "round_trips": "Round trips"}


def table(runs: Sequence[series.Run]) -> pl.DataFrame:
    """One row per recovery, buffer (in packets), number of flows and flow that recovered without a
    timeout: `retransmitted` segments of its first recovery, and `round_trips` from the first of
    them to the last, the one before the first counted too.

    A round trip is the base one and what the retransmissions waited in the queue, the mean.
    """
    return pl.concat([_flows(run) for run in runs]).sort("recovery", "buffer", "flows", "sport")


def _flows(run: series.Run) -> pl.DataFrame:
    rtt_ns = run.time_ns("experiment.rtt")
    connection = ["sport", "dport"]
    state = pl.col("ca_state").cast(pl.String)
    # in the order of time: a flow's first recovery, up to its next state
    spans = (
        run.records("acks")
        .sort("time_ns")
        .collect()
        .with_columns(episode=(state != state.shift(1)).fill_null(True).cum_sum().over(connection))
        .group_by(*connection, "episode")
        .agg(state.first(), begin_ns=pl.col("time_ns").min(), end_ns=pl.col("time_ns").max())
        .sort("begin_ns")
        .filter(pl.col("ca_state").is_in(["Recovery", "Loss"]))
        .group_by(connection, maintain_order=True)
        .first()
        .filter(pl.col("ca_state") == "Recovery")
    )
    sent = (
        series.forward(run)
        .filter(pl.col("payload_bytes") > 0)
        .sort("enqueue_ns")
        .collect()
        .with_columns(again=pl.struct(*connection, "seq").is_first_distinct().not_())
        .filter(pl.col("again"))
        .join(spans, on=connection)
        # a row of `acks` has the state before its segment, whose answer leaves at the same time
        .filter(pl.col("enqueue_ns").is_between(pl.col("begin_ns") - rtt_ns, pl.col("end_ns")))
    )
    took = pl.col("enqueue_ns").max() - pl.col("enqueue_ns").min()
    round_trip = rtt_ns + pl.col("sojourn_ns").mean()
    return sent.group_by(connection).agg(
        recovery=pl.lit(str(run.axes["recovery"])),
        buffer=pl.lit(transients.buffer_packets(run)),
        flows=pl.lit(run.field("experiment.flows.0.count")),
        retransmitted=pl.len(),
        round_trips=1 + took / round_trip,
    )


def plot(table: pl.DataFrame) -> ggplot:
    """Medians over the flows against the number of flows; a line per recovery and buffer."""
    named = table.with_columns(line=pl.format("{}, {} packets", "recovery", "buffer"))
    shown = drawing.measures(named, "flows", "line", MEASURES)
    medians = shown.group_by("replica", "panel", "line", "x").agg(pl.median("value"))
    return drawing.lines(medians, "Parallel flows", "")
