"""Publication III: queueing delay with HRED, CoDel and PIE against the number of flows."""

from collections.abc import Sequence

import polars as pl
from plotnine import (
    aes,
    facet_wrap,
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

QUEUES = {"pub2-hred": "HRED", "pub3-codel": "CoDel", "pub3-pie": "PIE"}


def table(runs: Sequence[series.Run]) -> pl.DataFrame:
    """One row per queue, rate and number of flows; means over the seeds.

    `high_ms` is the 95th percentile of the wait, `peak_ms` the longest wait in slow start, `lost`
    the packets dropped, `soon` those soon after the first.
    """
    rows = [
        {
            "queue": QUEUES[str(run.axes["experiment"])],
            "rate_mbit": transients.rate_mbit(run),
            "flows": run.field("experiment.flows.0.count"),
            "seed": run.field("seed"),
            "peak_ms": transients.longest_wait_ms(run),
            **transients.losses(run),
            **transients.waits(run),
            **transients.completion(run),
        }
        for run in runs
    ]
    return (
        pl.DataFrame(rows)
        .group_by("queue", "rate_mbit", "flows")
        .agg(pl.len().alias("seeds"), pl.all().exclude("seed").mean())
        .sort("queue", "rate_mbit", "flows")
    )


def plot(table: pl.DataFrame) -> ggplot:
    """The 95th percentile of the wait against the number of flows, a panel per rate."""
    rates = [f"{rate:g} Mb/s" for rate in table["rate_mbit"].unique().sort()]
    shown = table.with_columns(
        panel=pl.Series([f"{rate:g} Mb/s" for rate in table["rate_mbit"]]).cast(pl.Enum(rates))
    )
    drawn: ggplot = (
        ggplot(shown, aes("flows", "high_ms", color="queue", shape="queue", linetype="queue"))
        + facet_wrap("panel")
        + geom_line()
        + geom_point(size=2)
        + scale_x_log10(breaks=[1, 2, 4, 8, 16])
        + scale_color_manual(style.PALETTE)
        + scale_shape_manual(style.SHAPES)
        + scale_linetype_manual(style.LINES)
        + labs(
            x="Parallel flows",
            y="95th percentile of the queueing delay (ms)",
            color="",
            shape="",
            linetype="",
        )
    )
    return drawn


def high_ratio(
    table: pl.DataFrame, queue: str, over: str, flows_from: int, rate_mbit: float
) -> float | None:
    """The 95th percentile with one queue over that with another, largest over numbers of flows."""
    one, other = (
        table.filter(
            (pl.col("queue") == name)
            & (pl.col("flows") >= flows_from)
            & (pl.col("rate_mbit") == rate_mbit)
        ).select("flows", "high_ms")
        for name in (queue, over)
    )
    both = one.join(other, on="flows", suffix="_over")
    return scalar((both["high_ms"] / both["high_ms_over"]).max())


def growth(
    table: pl.DataFrame, queue: str, column: str, flows: int, over: int, rate_mbit: float
) -> float | None:
    """A column's value with a number of flows over that with another."""
    found = dict(
        table.filter((pl.col("queue") == queue) & (pl.col("rate_mbit") == rate_mbit))
        .select("flows", column)
        .rows()
    )
    return found[flows] / found[over] if {flows, over} <= set(found) and found[over] else None


def mean_delay(table: pl.DataFrame, queue: str, flows: int, rate_mbit: float) -> float | None:
    """The mean wait, ms."""
    chosen = table.filter(
        (pl.col("queue") == queue) & (pl.col("flows") == flows) & (pl.col("rate_mbit") == rate_mbit)
    )
    return scalar(chosen["delay_ms"].max())


METRICS = (high_ratio, growth, mean_delay)
