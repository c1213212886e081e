"""Section 3.2: what becomes of packets that RED makes senders send again."""

from collections.abc import Sequence

import plotnine as p9
import polars as pl

from pipelines.flow_startup import pub2, transients
from sandglass.papers import ensemble
from sandglass.papers.verdicts import scalar
from sandglass.results import series, style

LEAST_RTO_NS = 200_000_000  # Linux's TCP_RTO_MIN
DOUBLED = 1.8
"""From this ratio of two waits on it is a timeout that was doubled: less than two, since the timer
counts from when the packet was sent, not from when it came."""
RED = "Recommended RED"
DEFAULT = "RACK and probes"
MEASURES = {
    "resent_lost": "Retransmissions lost",
    "rtos": "Timeouts",
    "fct_s": "Completion time (s)",
}


def table(runs: Sequence[series.Run]) -> pl.DataFrame:
    """One row per queue, recovery, buffer (in packets) and number of flows, of one run each.

    Numbers of packets: `resent`, whose bytes came before, and `resent_lost`, those of them that
    were dropped. `rtos` are the timeouts, `rtos_after` those of flows that lost a resent
    packet. `backed_off` is the largest number of times in a row that the wait until the same bytes
    came again doubled. `cut` and `fct_s` are as in publication II.
    """
    return pl.DataFrame([_row(run) for run in runs]).sort("queue", "recovery", "buffer", "flows")


def _row(run: series.Run) -> dict[str, object]:
    packets = (
        series.forward(run)
        .filter(pl.col("payload_bytes") > 0)
        .sort("enqueue_ns")
        .select("flow", "sport", "dport", "seq", "enqueue_ns", "drop_ns")
        .collect()
    )
    same = ["sport", "dport", "seq"]
    counted = packets.with_columns(
        sent=pl.int_range(pl.len()).over(same),
        wait_ns=pl.col("enqueue_ns").diff().over(same),
    )
    resent = counted.filter(pl.col("sent") > 0)
    lost = resent.filter(pl.col("drop_ns").is_not_null())
    timeouts = run.records("flows").select(pl.col("flow").cast(pl.Int64), "rtos").collect()
    unlucky = timeouts.filter(pl.col("flow").is_in(lost["flow"].cast(pl.Int64).to_list()))
    return {
        "queue": pub2.QUEUES[str(run.axes["experiment"])],
        "recovery": str(run.axes.get("recovery", DEFAULT)),
        "buffer": transients.buffer_packets(run),
        "flows": run.field("experiment.flows.0.count"),
        "resent": resent.height,
        "resent_lost": lost.height,
        "rtos": int(timeouts["rtos"].sum()),
        "rtos_after": int(unlucky["rtos"].sum()),
        "backed_off": _backed_off(counted, same),
        "cut": _cut(run),
        "fct_s": transients.completion(run)["fct_s"],
    }


def _cut(run: series.Run) -> int:
    """The packets dropped because the average was above the maximum threshold; a FIFO has none."""
    last = series.queue_samples(run).tail(1)
    return int(last["forced"].item()) if "forced" in last.columns else 0


def _backed_off(counted: pl.DataFrame, same: Sequence[str]) -> int:
    before = pl.col("wait_ns").shift(1).over(same)
    doubled = (before >= LEAST_RTO_NS) & (pl.col("wait_ns") >= DOUBLED * before)
    runs = counted.with_columns(doubled=doubled.fill_null(False)).with_columns(
        group=(~pl.col("doubled")).cum_sum().over(same)
    )
    rows = runs.group_by(*same, "group").agg(pl.col("doubled").sum())["doubled"].max()
    return int(rows) if isinstance(rows, int) else 0


def plot(table: pl.DataFrame) -> p9.ggplot:
    """Each measure by the number of flows; of replicas the mean with its interval."""
    names = pl.format("{}, {}", "queue", "recovery")
    named = table.with_columns(
        queue=pl.when(pl.col("recovery") == DEFAULT).then("queue").otherwise(names),
        panel=pl.format("{} packets", "buffer"),
        flows=pl.col("flows").cast(pl.String),
    )
    means = ensemble.measure_means(named, MEASURES, ["queue", "panel", "flows"]).with_columns(
        flows=pl.col("flows").cast(pl.Enum(sorted(named["flows"].unique(), key=int)))
    )
    beside = p9.position_dodge(width=0.6)
    drawn: p9.ggplot = (
        p9.ggplot(means, p9.aes("flows", "value", color="queue", shape="queue"))
        + p9.facet_grid("measure", "panel", scales="free_y")
        + (
            p9.geom_point(size=2, position=beside)
            if means["low"].has_nulls()
            else p9.geom_pointrange(p9.aes(ymin="low", ymax="high"), position=beside)
        )
        + p9.scale_color_manual(style.PALETTE)
        + p9.scale_shape_manual(style.SHAPES)
        + p9.labs(x="Parallel flows", y="", color="", shape="")
    )
    return drawn


def cut_over_taildrop(table: pl.DataFrame, column: str, recovery: str = DEFAULT) -> float | None:
    """A column where recommended RED cut over that with Taildrop in the same transactions, the
    median over buffers and numbers of flows."""
    both = _cut_and_taildrop(table, column, recovery)
    return scalar((both[column] / both[f"{column}_over"]).median())


def cut_less_taildrop(table: pl.DataFrame, column: str, recovery: str = DEFAULT) -> float | None:
    """The same, less that with Taildrop."""
    both = _cut_and_taildrop(table, column, recovery)
    return scalar((both[column] - both[f"{column}_over"]).median())


METRICS = (cut_over_taildrop, cut_less_taildrop)


def _of(table: pl.DataFrame, queue: str, recovery: str) -> pl.DataFrame:
    return table.filter((pl.col("queue") == queue) & (pl.col("recovery") == recovery))


def _cut_and_taildrop(table: pl.DataFrame, column: str, recovery: str) -> pl.DataFrame:
    case = ["buffer", "flows"]
    cut = _of(table, RED, recovery).filter(pl.col("cut") > 0).select(*case, column)
    taildrop = _of(table, "Taildrop", recovery).select(*case, column)
    return cut.join(taildrop, on=case, suffix="_over")
