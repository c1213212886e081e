"""The compatibility mode of Predict: longest queueing delay and page load time against RTT."""

from collections.abc import Sequence

import polars as pl
from plotnine import facet_wrap, ggplot

from pipelines.flow_startup import transients
from sandglass.papers import ensemble
from sandglass.papers.verdicts import Extreme, largest
from sandglass.results import series

PREDICT = "Predict, 200 %"
BUILT_IN = ("CoDel", "PIE", "FQ-CoDel")
MEASURES = {"peak_ms": "Longest wait (ms)", "plt_s": "Page load time (s)"}


def table(runs: Sequence[series.Run]) -> pl.DataFrame:
    """One row per queue and RTT. The seed draws the page.

    `peak_ms` is the longest wait of a packet whose flow was in slow start when it came, `plt_s` the
    page load time.
    """
    rows = [
        {
            "queue": str(run.axes["queue"]),
            "rtt_ms": run.time_ns("experiment.rtt") / 1e6,
            "peak_ms": transients.longest_wait_ms(run),
            "plt_s": run.field("flows.0.plt_s"),
        }
        for run in runs
    ]
    return pl.DataFrame(rows).sort("queue", "rtt_ms")


def plot(table: pl.DataFrame) -> ggplot:
    """Both measures against the RTT, a line per queue."""
    shown = ensemble.measures(table, MEASURES, ["queue", "rtt_ms"])
    drawn: ggplot = transients.against_rtt(shown) + facet_wrap("measure", scales="free_y")
    return drawn


def over_built_in(table: pl.DataFrame, column: str, by: str) -> pl.DataFrame:
    """A measure with Predict over that with each of mainline's AQMs, `ratio`, for each value of the
    column `by`."""
    own = table.filter(queue=PREDICT).select(by, own=column)
    others = table.filter(pl.col("queue").is_in(BUILT_IN))
    return others.join(own, on=by).select("queue", by, ratio=pl.col("own") / pl.col(column))


def over_best_built_in(
    table: pl.DataFrame, column: str, rtt_from: float, rtt_to: float
) -> Extreme | None:
    """A measure with Predict over the least with mainline's AQMs, the largest over the RTTs."""
    asked = table.filter(pl.col("rtt_ms").is_between(rtt_from, rtt_to))
    return largest(over_built_in(asked, column, "rtt_ms"), "ratio")


METRICS = (over_best_built_in,)
