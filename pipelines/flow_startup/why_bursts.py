"""Why HRED loses more packets in a row than Taildrop: what counts as a burst."""

from collections.abc import Sequence

import polars as pl
from plotnine import (
    aes,
    geom_line,
    geom_point,
    ggplot,
    labs,
    scale_color_manual,
    scale_shape_manual,
)

from pipelines.flow_startup import pub2, transients
from sandglass.results import series, style

GAPS = range(1, 9)


def table(runs: Sequence[series.Run]) -> pl.DataFrame:
    """One row per queue, buffer (in packets), number of flows and `gap`: of the packets lost those
    (`lost`) that arrived at most so many packets after another that was lost; means over the
    seeds."""
    rows = [
        {
            "queue": pub2.QUEUES[str(run.axes["experiment"])],
            "buffer": transients.buffer_packets(run),
            "flows": run.field("experiment.flows.0.count"),
            "gap": gap,
            "lost": lost,
        }
        for run in runs
        for gap, lost in zip(GAPS, _near(run), strict=True)
    ]
    keys = ["queue", "buffer", "flows", "gap"]
    return pl.DataFrame(rows).group_by(keys).agg(pl.col("lost").mean()).sort(keys)


def _near(run: series.Run) -> list[int]:
    """Packets lost at most each of GAPS arrivals after another."""
    arrivals = series.forward(run).sort("enqueue_ns").select("drop_ns").collect()
    gaps = arrivals["drop_ns"].is_not_null().arg_true().cast(pl.Int64).diff().drop_nulls()
    return [int((gaps <= gap).sum()) for gap in GAPS]


def plot(table: pl.DataFrame) -> ggplot:
    """Losses of all transactions against the gap, a line per queue."""
    shown = table.group_by("queue", "gap").agg(pl.col("lost").sum()).sort("queue", "gap")
    drawn: ggplot = (
        ggplot(shown, aes("gap", "lost", color="queue", shape="queue"))
        + geom_line()
        + geom_point(size=2)
        + scale_color_manual(style.PALETTE)
        + scale_shape_manual(style.SHAPES)
        + labs(x="Packets after another loss, at most", y="Packets lost", color="", shape="")
    )
    return drawn


def ratio(table: pl.DataFrame, queue: str, over: str, gap: int) -> float | None:
    """The losses near another with one queue over those with another, sums over buffers and numbers
    of flows."""
    near = table.filter(gap=gap)
    one, other = (float(near.filter(queue=name)["lost"].sum()) for name in (queue, over))
    return one / other if other else None


METRICS = (ratio,)
