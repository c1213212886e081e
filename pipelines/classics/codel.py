"""CoDel: waits and data over time, through a link whose rate changes."""

from collections.abc import Sequence

import plotnine as p9
import polars as pl

from sandglass.papers import ensemble
from sandglass.results import series, style

SECOND_NS = 10**9
BOUND_NS = 90 * 10**6
PANELS = {"longest_s": "longest wait in a second (s)", "mbytes": "sent so far (MB)"}


def table(runs: Sequence[series.Run]) -> pl.DataFrame:
    """A row per run and second: `queue`, `limit`, `time_s`, `longest_s`, the longest wait of the
    packets that left in it, and `mbytes`, what has left since the start. And of the whole run,
    the same in all of its rows: `median_ms` and `p75_ms` of all waits, and `below_90_ms`, the share
    of the time in which the packet that had left last had waited less."""
    return pl.concat([_rows(run) for run in runs])


def _rows(run: series.Run) -> pl.DataFrame:
    sent = (
        series.forward(run)
        .filter(pl.col("dequeue_ns").is_not_null())
        .select(
            "dequeue_ns",
            wait_ns=pl.col("dequeue_ns") - pl.col("enqueue_ns"),
            size=pl.col("size_bytes").cast(pl.Int64),
        )
        .sort("dequeue_ns")
        .collect()
    )
    until = pl.col("dequeue_ns").diff().shift(-1).fill_null(0)
    short = sent.select(until.filter(pl.col("wait_ns") < BOUND_NS).sum() / until.sum()).item()
    return (
        sent.group_by(time_s=pl.col("dequeue_ns") // SECOND_NS, maintain_order=True)
        .agg(longest_s=pl.col("wait_ns").max() / 1e9, mbytes=pl.col("size").sum() / 1e6)
        .with_columns(
            pl.col("mbytes").cum_sum(),
            queue=pl.lit(str(run.axes["queue"])),
            limit=pl.lit(int(run.axes["limit"])),
            median_ms=pl.lit(sent["wait_ns"].median()) / 1e6,
            p75_ms=pl.lit(sent["wait_ns"].quantile(0.75)) / 1e6,
            below_90_ms=pl.lit(short),
        )
    )


def plot(table: pl.DataFrame) -> p9.ggplot:
    """Waits and data over time, of one replica."""
    first = ensemble.replicas(table)[0].with_columns(
        what=pl.format("{}, {} packets", "queue", "limit")
    )
    long = first.unpivot(list(PANELS), index=["what", "time_s"]).with_columns(
        panel=pl.col("variable").replace_strict(PANELS)
    )
    drawn: p9.ggplot = (
        p9.ggplot(long, p9.aes("time_s", "value", color="what", linetype="what"))
        + p9.facet_wrap("panel", scales="free_y", ncol=1)
        + p9.geom_line()
        + p9.scale_color_manual(style.PALETTE)
        + p9.scale_linetype_manual(style.LINES)
        + p9.labs(x="time (s)", y="", color="", linetype="")
        + p9.theme(figure_size=(style.WIDTH_IN, 6))
    )
    return drawn
