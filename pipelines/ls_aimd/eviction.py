"""A queue that drops where it would mark, and senders that keep two segments on their way."""

from collections.abc import Sequence

import polars as pl
from plotnine import aes, facet_wrap, geom_col, ggplot, labs

from pipelines.ls_aimd import steady
from sandglass.results import series, style

PANELS = {
    "lost": "Share of dropped packets",
    "least_timeouts": "Fewest timeouts of a flow (1/s)",
}


def table(runs: Sequence[series.Run]) -> pl.DataFrame:
    """One row per `case`: `lost`, the share of packets that the queue dropped in the second half;
    of the whole run `least_timeouts`, per second, of the flow that had fewest; `utilisation` in
    the second half."""
    rows: list[dict[str, object]] = []
    for run in runs:
        begin, end = steady.interval_ns(run)
        packets = series.forward(run).filter(
            (pl.col("enqueue_ns") >= begin) & (pl.col("enqueue_ns") < end)
        )
        lost, sent = (
            packets.select(
                pl.col("drop_ns").is_not_null().mean().alias("lost"),
                pl.col("size_bytes")
                .filter(pl.col("dequeue_ns").is_not_null())
                .sum()
                .cast(pl.Int64)
                .alias("sent"),
            )
            .collect()
            .row(0)
        )
        timeouts = [flow["rtos"] for flow in run.field("flows")]
        rows.append(
            {
                "case": str(run.axes["case"]),
                "lost": lost,
                "least_timeouts": min(timeouts) / (end / 1e9),
                "utilisation": sent * 8 / steady.rate_bps(run) / steady.seconds(run),
            }
        )
    return pl.DataFrame(rows).sort("case")


def plot(table: pl.DataFrame) -> ggplot:
    """Losses and timeouts by experiment."""
    means = table.group_by("case", maintain_order=True).agg(pl.col(*PANELS).mean())
    shown = means.unpivot(list(PANELS), index="case").with_columns(
        panel=pl.col("variable").replace_strict(PANELS)
    )
    drawn: ggplot = (
        ggplot(shown, aes("case", "value"))
        + facet_wrap("panel", scales="free_y")
        + geom_col(fill=style.PALETTE[0])
        + labs(x="Experiment", y="")
    )
    return drawn
