"""Why HRED loses more packets in a row than Taildrop: what counts as a burst."""

from collections.abc import Sequence

import polars as pl
from plotnine import ggplot

from pipelines.flow_startup import drawing, pub2, transients
from sandglass.papers import ensemble
from sandglass.results import series

GAPS = range(1, 9)


def table(runs: Sequence[series.Run]) -> pl.DataFrame:
    """One row per queue, buffer (in packets), number of flows and `gap`: of the packets lost those
    (`lost`) that arrived at most so many packets after another that was lost."""
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
    return pl.DataFrame(rows).sort("queue", *pub2.CASE, "gap")


def _near(run: series.Run) -> list[int]:
    """Packets lost at most each of GAPS arrivals after another."""
    arrivals = series.forward(run).sort("enqueue_ns").select("drop_ns").collect()
    gaps = arrivals["drop_ns"].is_not_null().arg_true().cast(pl.Int64).diff().drop_nulls()
    return [int((gaps <= gap).sum()) for gap in GAPS]


def plot(table: pl.DataFrame) -> ggplot:
    """Losses of all transactions against the gap, a line per queue."""
    sums = (
        ensemble.numbered(table)
        .group_by(ensemble.REPLICA, "queue", "gap", maintain_order=True)
        .agg(pl.col("lost").sum())
    )
    shown = drawing.measures(sums, "gap", "queue", {"lost": "All buffers and numbers of flows"})
    return drawing.lines(shown, "Packets after another loss, at most", "Packets lost")
