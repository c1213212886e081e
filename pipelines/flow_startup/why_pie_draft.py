"""Why publication IV's PIE waits longest elsewhere: which PIE it is."""

from collections.abc import Sequence

import polars as pl
from plotnine import facet_wrap, ggplot

from pipelines.flow_startup import transients
from sandglass.experiment import units
from sandglass.results import series


def table(runs: Sequence[series.Run]) -> pl.DataFrame:
    """One row per `queue`, which PIE, number of flows and RTT: `peak_ms`, the longest wait of a
    packet whose flow was in slow start when it came; mean over the seeds."""
    rows = [
        {
            "queue": str(run.axes["pie"]),
            "flows": run.field("experiment.flows.0.count"),
            "rtt_ms": units.parse_time(run.field("experiment.rtt")) / 1e6,
            "peak_ms": transients.longest_wait_ms(run),
        }
        for run in runs
    ]
    case = ["queue", "flows", "rtt_ms"]
    means = pl.DataFrame(rows).group_by(case).agg(pl.len().alias("seeds"), pl.mean("peak_ms"))
    return means.sort(case)


def plot(table: pl.DataFrame) -> ggplot:
    """The longest wait against the RTT; a panel per number of flows."""
    shown = table.with_columns(value="peak_ms", panel=transients.flow_label(table, "flows"))
    drawn: ggplot = transients.against_rtt(shown) + facet_wrap("panel")
    return drawn


def longest_at(table: pl.DataFrame, queue: str) -> float | None:
    """The RTT at which a PIE's wait, geometric mean over the numbers of flows, is longest, ms."""
    return transients.longest_at(table.filter(queue=queue))


METRICS = (longest_at,)
