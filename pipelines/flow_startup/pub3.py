"""Publication III: queueing delay with HRED, CoDel and PIE against the number of flows."""

from collections.abc import Sequence

import polars as pl
from plotnine import ggplot

from pipelines.flow_startup import drawing, transients
from sandglass.papers import ensemble
from sandglass.results import series

QUEUES = {"pub2-hred": "HRED", "pub3-codel": "CoDel", "pub3-pie": "PIE"}


def table(runs: Sequence[series.Run]) -> pl.DataFrame:
    """One row per queue, rate and number of flows.

    `high_ms` is the 95th percentile of the wait, `peak_ms` the longest wait in slow start, `lost`
    the packets dropped, `soon` those soon after the first.
    """
    rows = [
        {
            "queue": QUEUES[str(run.axes["experiment"])],
            "rate_mbit": transients.rate_mbit(run),
            "flows": run.field("experiment.flows.0.count"),
            "peak_ms": transients.longest_wait_ms(run),
            **transients.losses(run),
            **transients.waits(run),
            **transients.completion(run),
        }
        for run in runs
    ]
    return pl.DataFrame(rows).sort("queue", "rate_mbit", "flows")


def plot(table: pl.DataFrame) -> ggplot:
    """The 95th percentile of the wait against the number of flows, a panel per rate."""
    rates = {rate: f"{rate:g} Mb/s" for rate in table["rate_mbit"].unique().sort()}
    shown = ensemble.numbered(table).select(
        ensemble.REPLICA,
        x="flows",
        value="high_ms",
        line="queue",
        panel=pl.col("rate_mbit").replace_strict(rates, return_dtype=pl.Enum(list(rates.values()))),
    )
    label = "95th percentile of the queueing delay (ms)"
    return drawing.lines(shown, "Parallel flows", label, log_x=True)


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


METRICS = (growth,)
