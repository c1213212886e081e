"""Section II-B: how much the utilisation of Fig. 4 varies over runs."""

import math
from collections.abc import Sequence

import polars as pl
from plotnine import facet_wrap, ggplot

from pipelines.abe import drawing, fig04, settings
from sandglass.papers.verdicts import scalar
from sandglass.results import series

SKIPPED = 5
"""Saw-teeth before the five that are looked at; slow start has ended."""


def table(runs: Sequence[series.Run]) -> pl.DataFrame:
    """One row per run: the `utilisation` over its saw-teeth 6 to 10, null where it has fewer.

    The runs of a `queue`, `beta` and `rtt_ms` differ in their `seed`, by which the flow starts
    within a second and PIE draws.
    """
    return pl.DataFrame([_row(run) for run in runs]).sort("queue", "beta", "rtt_ms", "seed")


def _row(run: series.Run) -> dict[str, str | float | None]:
    queue, beta, rtt_ms = fig04.condition(run)
    teeth = fig04.sawteeth(run)[SKIPPED : SKIPPED + fig04.CYCLES]
    return {
        "queue": queue,
        "beta": beta,
        "rtt_ms": rtt_ms,
        "seed": run.field("seed"),
        "utilisation": scalar(series.utilisation(teeth, settings.rate(run), fig04.CYCLES).mean()),
    }


def deviations(table: pl.DataFrame) -> pl.DataFrame:
    """Over the runs of a queue, beta and RTT the standard `deviation` of the utilisation and its
    `mean`."""
    return table.group_by("queue", "beta", "rtt_ms", maintain_order=True).agg(
        deviation=pl.col("utilisation").std(), mean=pl.col("utilisation").mean()
    )


def plot(table: pl.DataFrame) -> ggplot:
    """The standard deviation against the RTT, a line per beta and a panel per AQM, on one scale."""
    drawn: ggplot = drawing.panels(
        deviations(table),
        {"deviation": "Standard deviation of utilisation"},
        ("rtt_ms", "Base RTT (ms)"),
        ("beta", "beta"),
        ["queue"],
    ) + facet_wrap("queue")
    return drawn


def median_deviation(table: pl.DataFrame, queue: str, below: float = math.inf) -> float | None:
    """The median over RTTs and betas of the standard deviation, as a share of the capacity; of
    those whose mean utilisation is below some share."""
    found = deviations(table.filter(queue=queue)).filter(pl.col("mean") < below)
    return scalar(found["deviation"].median())


def varies_more(table: pl.DataFrame, queue: str, than: str) -> float | None:
    """The median over RTTs and betas of one queue's standard deviation over another's."""
    found = deviations(table)
    both = found.filter(queue=queue).join(found.filter(queue=than), on=["beta", "rtt_ms"])
    return scalar((both["deviation"] / both["deviation_right"]).median())


METRICS = (median_deviation, varies_more)
