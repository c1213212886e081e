"""Publication II: how HRED, recommended RED and Taildrop lose packets in load transients."""

import math
from collections.abc import Sequence

import polars as pl
from plotnine import (
    aes,
    facet_grid,
    geom_line,
    geom_point,
    ggplot,
    labs,
    scale_color_manual,
    scale_linetype_manual,
    scale_shape_manual,
    scale_x_log10,
)

from pipelines.flow_startup import transients
from sandglass.papers.verdicts import scalar
from sandglass.results import series, style

QUEUES = {"pub2-hred": "HRED", "pub2-red": "Recommended RED", "pub2-fifo": "Taildrop"}
SHOWN = {
    "overflow": "Overflow",
    "cut": "Cut",
    "early": "Early",
    "in_a_row": "In a row",
    "rtos": "RTOs",
}


def table(runs: Sequence[series.Run]) -> pl.DataFrame:
    """One row per queue, buffer (in packets) and number of flows; means over the seeds.

    Packets lost because the buffer was full (`overflow`), because the average was above the maximum
    threshold (`cut`) and by chance (`early`); of all lost, those right after another (`in_a_row`);
    `rtos`; `delay_ms`, `high_ms` and `fct_s` as in `transients`.
    """
    rows = [
        {
            "queue": QUEUES[str(run.axes["experiment"])],
            "buffer": transients.buffer_packets(run),
            "flows": run.field("experiment.flows.0.count"),
            "seed": run.field("seed"),
            **_reasons(run),
            **transients.losses(run),
            "rtos": transients.timeouts(run),
            **transients.waits(run),
            **transients.completion(run),
        }
        for run in runs
    ]
    return (
        pl.DataFrame(rows)
        .group_by("queue", "buffer", "flows")
        .agg(pl.len().alias("seeds"), pl.all().exclude("seed").mean())
        .sort("queue", "buffer", "flows")
    )


def _reasons(run: series.Run) -> dict[str, int]:
    """Why packets were dropped, by the qdisc's own counters; a FIFO has one reason."""
    last = series.queue_samples(run).tail(1)
    if "forced" not in last.columns:
        return {"overflow": last["drops"].item(), "cut": 0, "early": 0}
    return {
        "overflow": last["overlimit"].item(),
        "cut": last["forced"].item(),
        "early": last["early"].item(),
    }


def plot(table: pl.DataFrame) -> ggplot:
    """Packets lost against the number of flows: a row per reason, a panel per buffer."""
    buffers = [f"{size} packets" for size in table["buffer"].unique().sort()]
    shown = table.unpivot(
        list(SHOWN), index=["queue", "buffer", "flows"], variable_name="reason"
    ).with_columns(
        reason=pl.col("reason").replace_strict(SHOWN, return_dtype=pl.Enum(list(SHOWN.values()))),
        panel=pl.format("{} packets", "buffer").cast(pl.Enum(buffers)),
    )
    drawn: ggplot = (
        ggplot(shown, aes("flows", "value", color="queue", shape="queue", linetype="queue"))
        + facet_grid("reason", "panel", scales="free_y")
        + geom_line()
        + geom_point(size=1.8)
        + scale_x_log10(breaks=[1, 2, 4, 8, 16])
        + scale_color_manual(style.PALETTE)
        + scale_shape_manual(style.SHAPES)
        + scale_linetype_manual(style.LINES)
        + labs(x="Parallel flows", y="", color="", shape="", linetype="")
    )
    return drawn


def most(table: pl.DataFrame, queue: str, column: str, buffer_from: int = 0) -> float | None:
    """The largest value of a column over buffers and numbers of flows."""
    return scalar(_of(table, queue, buffer_from)[column].max())


def least_cut(
    table: pl.DataFrame, queue: str, column: str, buffer_to: float = math.inf
) -> float | None:
    """The smallest value of a column over the buffers, up to one in packets, and numbers of flows
    at which the average rose above the maximum threshold."""
    cut = _of(table, queue, 0).filter((pl.col("cut") > 0) & (pl.col("buffer") <= buffer_to))
    return scalar(cut[column].min())


def share_in_a_row(table: pl.DataFrame, queue: str, buffer_from: int = 0) -> float | None:
    """Of all packets lost, the share right after another."""
    chosen = _of(table, queue, buffer_from)
    lost = float(chosen["lost"].sum())
    return float(chosen["in_a_row"].sum()) / lost if lost else None


def total_ratio(
    table: pl.DataFrame, queue: str, over: str, column: str, buffer_from: int = 0
) -> float | None:
    """A column's sum with one queue over that with another."""
    one, other = (float(_of(table, name, buffer_from)[column].sum()) for name in (queue, over))
    return one / other if other else None


METRICS = (most, least_cut, share_in_a_row, total_ratio)


def _of(table: pl.DataFrame, queue: str, buffer_from: int) -> pl.DataFrame:
    return table.filter((pl.col("queue") == queue) & (pl.col("buffer") >= buffer_from))
