"""Section 4.4: what halving costs a long flow where an AQM keeps the queue low."""

from collections.abc import Sequence

import polars as pl
from plotnine import ggplot

from pipelines.flow_startup import drawing, long_flows
from sandglass.results import series

SETTLED_NS = 40 * 10**9
"""From a third of the path's 167 packets at 200 ms the way up to the first peak takes some 22 s."""


def table(runs: Sequence[series.Run]) -> pl.DataFrame:
    """One row per queue, factor and RTT: `utilisation` and mean wait `delay_ms` of what leaves the
    queue after the first 40 s."""
    rows = [
        {
            "queue": str(run.axes["queue"]),
            "factor": int(run.axes["factor"]) / 100,
            "rtt_ms": run.time_ns("experiment.rtt") / 1e6,
            **long_flows.settled(run, SETTLED_NS),
        }
        for run in runs
    ]
    return pl.DataFrame(rows).sort("queue", "factor", "rtt_ms")


def plot(table: pl.DataFrame) -> ggplot:
    """Both against the RTT, a line per queue and factor."""
    named = table.with_columns(sender=pl.format("{}, {}", "queue", "factor"))
    shown = drawing.measures(named, "rtt_ms", "sender", long_flows.MEASURES)
    return drawing.lines(shown, "RTT (ms)", "", log_x=True)
