"""Section 3.4: what a limit to transient queueing changes in what Predict does."""

from collections.abc import Sequence

import polars as pl
from plotnine import facet_grid, ggplot, labs, scale_y_continuous

from pipelines.flow_startup import pub4, transients
from sandglass.papers import ensemble
from sandglass.papers.verdicts import Extreme, farthest, largest
from sandglass.results import series, style

NONE = "none"
CASE = ["flows", "rtt_ms"]
MEASURES = {"peak_ms": "Longest wait", "fct_s": "FCT"}


def table(runs: Sequence[series.Run]) -> pl.DataFrame:
    """One row per `bound`, number of flows and RTT, with `peak_ms` and `fct_s` of `pub4`."""
    found = series.along(runs, "bound", pub4.table)
    return found.select("bound", *CASE, *MEASURES).sort("bound", *CASE)


def ratios(table: pl.DataFrame) -> pl.DataFrame:
    """The measures with a `bound` over those without one, a row per bound, flows and RTT."""
    own = ensemble.numbered(table)
    case = [ensemble.REPLICA, *CASE]
    without = own.filter(pl.col("bound") == NONE).drop("bound")
    both = own.filter(pl.col("bound") != NONE).join(without, on=case, suffix="_without")
    return both.select(
        *case, "bound", *(pl.col(name) / pl.col(f"{name}_without") for name in MEASURES)
    )


def plot(table: pl.DataFrame) -> ggplot:
    """The ratios against the RTT, wait above, completion time below; a panel per number of flows
    and a line per bound."""
    found = ratios(table).rename({"bound": "queue"})
    shown = ensemble.measures(found, MEASURES, ["queue", *CASE]).with_columns(
        pl.col("queue").cast(style.in_order(found["queue"])),
        panel=transients.flow_label(found, "flows"),
    )
    drawn: ggplot = (
        transients.against_rtt(shown)
        + facet_grid("measure", "panel", scales="free_y")
        + scale_y_continuous()
        + labs(y="Over that without a limit")
    )
    return drawn


def change(table: pl.DataFrame, measure: str, rtt_to: float) -> Extreme | None:
    """How far a measure with a bound is from that without, as a share of this: the farthest over
    bounds, numbers of flows and RTTs up to one."""
    return farthest(_changes(table, measure, rtt_to), "change")


def longer(table: pl.DataFrame, measure: str, rtt_to: float) -> Extreme | None:
    """By how much a measure with a bound is above that without, as a share of this: the most over
    bounds, numbers of flows and RTTs up to one."""
    return largest(_changes(table, measure, rtt_to), "change")


def _changes(table: pl.DataFrame, measure: str, rtt_to: float) -> pl.DataFrame:
    short = ratios(table).filter(pl.col("rtt_ms") <= rtt_to)
    return short.select("bound", *CASE, change=pl.col(measure) - 1)


METRICS = (change, longer)
