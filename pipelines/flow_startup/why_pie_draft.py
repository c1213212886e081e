"""Why publication IV's PIE waits longest elsewhere: which PIE it is."""

from collections.abc import Sequence

import polars as pl
from plotnine import facet_wrap, ggplot

from pipelines.flow_startup import transients
from sandglass.papers.verdicts import Extreme
from sandglass.results import series


def table(runs: Sequence[series.Run]) -> pl.DataFrame:
    """One row per `queue`, which PIE, number of flows and RTT: `peak_ms`, the longest wait of a
    packet whose flow was in slow start when it came; mean over the seeds."""
    rows = [
        {
            "queue": str(run.axes["pie"]),
            "flows": run.field("experiment.flows.0.count"),
            "rtt_ms": run.time_ns("experiment.rtt") / 1e6,
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


def peak_margin(
    table: pl.DataFrame, queue: str, at_ms: float, rtt_from: float, rtt_to: float
) -> Extreme | None:
    """A PIE's wait at one RTT over that at those outside of a range, the least; geometric means
    over the numbers of flows."""
    return transients.peak_margin(table.filter(queue=queue), at_ms, rtt_from, rtt_to)


METRICS = (peak_margin,)
