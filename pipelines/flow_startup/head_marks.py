"""Section 3.4: marks that leave from the head of a queue, and marks that wait from its tail on."""

import math
from collections.abc import Sequence

import polars as pl
from plotnine import facet_grid, ggplot

from pipelines.flow_startup import signals, transients
from sandglass.papers import ensemble
from sandglass.papers.verdicts import scalar
from sandglass.results import series

CASE = ["flows", "rtt_ms"]
MEASURES = {"end_share": "Window\n(share: 1)", "peak_ms": "Longest\nwait (ms)"}


def table(runs: Sequence[series.Run]) -> pl.DataFrame:
    """One row per `queue`, place of its `marks`, number of flows and RTT.

    `end_share` is the largest window in slow start over a flow's share of the bandwidth-delay
    product, the median over the flows; `peak_ms` the longest wait of a packet whose flow was in
    slow start when it came.
    """
    return pl.DataFrame([_row(run) for run in runs]).sort("queue", "marks", *CASE)


def _row(run: series.Run) -> dict[str, object]:
    queue, marks = str(run.axes["marks"]).split(", ")
    return {
        "queue": queue,
        "marks": marks,
        "flows": run.field("experiment.flows.0.count"),
        "rtt_ms": run.time_ns("experiment.rtt") / 1e6,
        "end_share": signals.windows(run)["end_share"],
        "peak_ms": transients.longest_wait_ms(run),
    }


def plot(table: pl.DataFrame) -> ggplot:
    """Both measures against the RTT, a panel per number of flows and a line per place of marks."""
    named = table.with_columns(queue=pl.concat_str("queue", "marks", separator=", "))
    shown = ensemble.measures(named, MEASURES, ["queue", *CASE]).with_columns(
        panel=transients.flow_label(table, "flows")
    )
    drawn: ggplot = transients.against_rtt(shown) + facet_grid("measure", "panel", scales="free_y")
    return drawn


def early_share(table: pl.DataFrame, queue: str, most: float = math.inf) -> float | None:
    """The window at the end of slow start with marks at the head, over a flow's share of the
    bandwidth-delay product: the median over the numbers of flows and RTTs at which marks at the
    tail leave one share or more, up to the most."""
    both = _both(table, queue)
    return scalar(both.filter(pl.col("end_share_tail").is_between(1, most))["end_share"].median())


METRICS = (early_share,)


def _both(table: pl.DataFrame, queue: str) -> pl.DataFrame:
    """The measures at the head and, with `_tail` in their names, those at the tail."""
    head, tail = (table.filter(queue=queue, marks=marks) for marks in ("head", "tail"))
    return head.join(tail, on=CASE, suffix="_tail")
