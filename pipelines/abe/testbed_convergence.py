"""Figs. 12 and 13 as a testbed has them: with noise, and its hosts' senders."""

from math import inf

import polars as pl
from plotnine import facet_grid, ggplot, labs, scale_y_continuous

from pipelines.abe import convergence, drawing, why_noise
from sandglass.papers.verdicts import Extreme

table = why_noise.table

SLOW_START_S = 0.5
"""What crosses the threshold sooner does so while the second flow is in slow start."""
MEASURES = {
    "faster": "faster:\nall paths",
    "faster_after": "without\nslow start",
    "crossing": "runs in\nslow start",
}


def plot(table: pl.DataFrame) -> ggplot:
    """Against beta_ecn, a line per AQM and panels per control: the share of paths that converge
    faster than with the default, that without paths on which either is in slow start, and the
    share of runs that are."""
    keys = ["control", "queue", "beta_ecn"]
    shown = table.group_by(keys, maintain_order=True).agg(
        crossing=(pl.col("convergence_s").fill_null(inf) < SLOW_START_S).mean()
    )
    for name, after_s in (("faster", 0.0), ("faster_after", SLOW_START_S)):
        shares = (
            convergence.changed(_after(table, after_s))
            .group_by(keys)
            .agg((convergence.whole() < 1).mean().alias(name))
        )
        shown = shown.join(shares, on=keys, how="left", maintain_order="left")
    drawn: ggplot = (
        drawing.panels(shown, MEASURES, ("beta_ecn", "beta_ecn"), ("queue", "AQM"), ["control"])
        + facet_grid("measure", "control")
        + scale_y_continuous(limits=(0, 1), breaks=(0, 0.5, 1))
        + labs(y="Share")
    )
    return drawn


def slower(table: pl.DataFrame, control: str, beta: float, after_s: float = 0.0) -> float | None:
    """The share of paths that take longer than with the default; without those on which either
    converges before a time."""
    return convergence.slower(_paths(table, control, after_s), beta)


def faster(
    table: pl.DataFrame, control: str, beta: float, queue: str = "", after_s: float = 0.0
) -> float | None:
    """The share of paths that converge faster than with the default; as for slower."""
    return convergence.faster(_paths(table, control, after_s), beta, queue)


def most_faster(table: pl.DataFrame, control: str, after_s: float = 0.0) -> Extreme | None:
    """The largest share of paths faster than the default, over all other beta_ecn."""
    return convergence.most_faster(_paths(table, control, after_s))


def least_faster(table: pl.DataFrame, control: str) -> Extreme | None:
    """The smallest share of paths faster than the default, over all other beta_ecn."""
    return convergence.least_faster(_paths(table, control, 0.0))


def most_harmed(
    table: pl.DataFrame, control: str, by: float, after_s: float = 0.0
) -> Extreme | None:
    """The largest share of paths slower by more than `by`, over the beta_ecn above the default."""
    return convergence.most_harmed(_paths(table, control, after_s), by)


METRICS = (faster, least_faster, most_faster, most_harmed, slower)


def _paths(table: pl.DataFrame, control: str, after_s: float) -> pl.DataFrame:
    return _after(table.filter(control=control), after_s)


def _after(table: pl.DataFrame, after_s: float) -> pl.DataFrame:
    """The runs on paths on which neither they nor the default converge before a time."""
    early = pl.col("convergence_s").fill_null(inf) < after_s
    usual = table.filter(early, pl.col("beta_ecn") == pl.col("default"))
    path = ["control", "queue", "rate_mbit", "rtt_ms"]
    return table.filter(~early).join(usual, on=path, how="anti", maintain_order="left")
