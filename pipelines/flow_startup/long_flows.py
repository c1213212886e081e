"""Section 1.4, Publication II: long flows through an AQM that is made for slow start."""

from collections.abc import Sequence

import polars as pl
from plotnine import ggplot

from pipelines.flow_startup import drawing, transients
from sandglass.results import series

SETTLED_NS = 10**10
MEASURES = {"utilisation": "Utilisation", "delay_ms": "Mean queueing delay (ms)"}


def table(runs: Sequence[series.Run]) -> pl.DataFrame:
    """One row per queue and number of flows: `utilisation` and mean wait `delay_ms` of what leaves
    the queue after the first 10 s."""
    rows = [
        {
            "queue": str(run.axes["queue"]),
            "flows": run.field("experiment.flows.0.count"),
            **settled(run, SETTLED_NS),
        }
        for run in runs
    ]
    return pl.DataFrame(rows).sort("queue", "flows")


def settled(run: series.Run, from_ns: int) -> dict[str, float]:
    """`utilisation` and mean wait `delay_ms` of what leaves the queue from a time on."""
    sent = (
        series.forward(run)
        .filter(pl.col("dequeue_ns") >= from_ns)
        .select(bits=8 * pl.col("size_bytes").sum(), wait=pl.col("sojourn_ns").mean())
        .collect()
    )
    seconds = (run.time_ns("experiment.duration") - from_ns) / 1e9
    return {
        "utilisation": sent["bits"].item() / seconds / 1e6 / transients.rate_mbit(run),
        "delay_ms": sent["wait"].item() / 1e6,
    }


def plot(table: pl.DataFrame) -> ggplot:
    """Both against the number of flows, a line per queue."""
    return drawing.lines(
        drawing.measures(table, "flows", "queue", MEASURES), "Parallel flows", "", log_x=True
    )
