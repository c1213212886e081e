"""Section 3.1: what a sender hears of its marks while ACKs are lost, by DCTCP's feedback and by
Accurate ECN."""

from collections.abc import Sequence

import numpy as np
import polars as pl
from plotnine import ggplot

from pipelines.flow_startup import drawing
from sandglass.papers import ensemble
from sandglass.papers.verdicts import scalar
from sandglass.results import series, style

COUNTED_FROM_NS = 3 * 10**9
"""ACKs are lost from 2 s on, as the experiment says, and slow start is over."""
MEASURES = {"counted": "Counted per mark made", "misplaced": "Misplaced per mark made"}


def table(runs: Sequence[series.Run]) -> pl.DataFrame:
    """One row per `feedback`, way to mark (`marks`) and `loss` of ACKs, %, of one flow each.

    `counted`: marks that the sender has counted over marks made on the data that was acknowledged;
    `distance` that from 1. `misplaced`: the same distances of each round trip, added up whatever
    their sign, in marks, over marks made. Null where none was made.
    """
    return pl.DataFrame([_row(run) for run in runs], infer_schema_length=None).sort(
        "feedback", "marks", "loss"
    )


def _row(run: series.Run) -> dict[str, object]:
    told = _told(run)
    more = pl.col("counted", "made").diff()
    counted = _per_made(told.select(more), pl.col("counted"))
    return {
        "feedback": str(run.axes["feedback"]),
        "marks": str(run.axes["marks"]),
        "loss": float(str(run.axes["loss"]).rstrip("%")),
        "counted": counted,
        "distance": None if counted is None else abs(counted - 1),
        "misplaced": _per_made(
            told[_round_trips(told)].select(more), (pl.col("counted") - pl.col("made")).abs()
        ),
    }


def _per_made(marks: pl.DataFrame, some: pl.Expr) -> float | None:
    """How many of some marks there are for each that was made."""
    made = pl.col("made").sum()
    return scalar(marks.select(pl.when(made > 0).then(some.sum() / made)).item())


def _told(run: series.Run) -> pl.DataFrame:
    """Before each ACK: `counted`, how many marks the sender has counted, and `made`, how many were
    made on what is acknowledged; `time_ns` and `rtt_ns`."""
    seq = pl.col("seq").cast(pl.Int64)
    data = (
        series.forward(run)
        .filter(pl.col("payload_bytes") > 0, pl.col("dequeue_ns").is_not_null())
        .sort("dequeue_ns", maintain_order=True)
        .select(
            # sequence numbers may wrap
            acked=((seq - seq.first()) % 2**32 + pl.col("payload_bytes")).cum_max(),
            made=(pl.col("ecn_out") == series.CE).cast(pl.Int64).cum_sum(),
        )
    )
    return (
        run.records("acks")
        .sort("time_ns", maintain_order=True)
        .filter(pl.col("time_ns") >= COUNTED_FROM_NS)
        .select(
            "time_ns",
            rtt_ns=pl.col("srtt_us").cast(pl.Int64) * 1000,
            acked=pl.col("bytes_acked").cast(pl.Int64),
            counted=pl.col("delivered_ce_packets").cast(pl.Int64),
        )
        .join_asof(data, on="acked")
        .with_columns(pl.col("made").fill_null(0))
        .collect()
    )


def _round_trips(told: pl.DataFrame) -> list[int]:
    """The rows with which round trips begin, one after the other."""
    times, rtts = told["time_ns"].to_numpy(), told["rtt_ns"].to_numpy()
    found = [0]
    while (begins := int(np.searchsorted(times, times[found[-1]] + rtts[found[-1]]))) < len(times):
        found.append(begins)
    return found


def plot(table: pl.DataFrame) -> ggplot:
    """Marks that are counted and misplaced against the loss, a line per feedback and a panel for
    each way to mark."""
    shown = ensemble.measures(table, MEASURES, ["feedback", "marks", "loss"]).select(
        ensemble.REPLICA,
        "value",
        x="loss",
        line=pl.col("feedback").cast(style.in_order(table["feedback"])),
        panel=pl.format("{}, {}", "measure", "marks"),
    )
    return drawing.lines(shown, "ACKs lost (%)", "")
