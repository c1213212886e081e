"""Section IV-C: how long four and ten flows, one more each 30 s, take to share the bottleneck."""

from collections.abc import Sequence
from math import inf

import polars as pl
from plotnine import ggplot

from pipelines.abe import convergence, drawing, settings, why_convergence, why_noise
from sandglass.papers import ensemble
from sandglass.papers.verdicts import Extreme, largest
from sandglass.results import series

CASE = ["control", "queue", "flows", "entry", "rate_mbit", "rtt_ms", "reading"]
FEWER = 4
READINGS = {"first": convergence.first, "for good": why_convergence.for_good}
"""Of "the time it took until this index reached a threshold": the report's words, and to stay."""


def table(runs: Sequence[series.Run]) -> pl.DataFrame:
    """One row per congestion control, queue, number of flows, `entry` of one of them but the first,
    rate, RTT, beta_ecn and `reading` of the time.

    `convergence_s` is the time from the entry until the flows that are there share the bottleneck,
    null where they do not before the next one's, and `usual_s` that with the control's `default`
    beta_ecn.
    """
    rows = [
        {"default": default / 100, **about, **entry}
        for _, default, own in why_noise.by_control(runs)
        for run in own
        for about in [_conditions(run)]
        for entry in _entries(run)
    ]
    found = pl.DataFrame(rows, schema_overrides={"convergence_s": pl.Float64})
    usual = found.filter(pl.col("beta_ecn") == pl.col("default"))
    both = found.join(usual.select(*CASE, usual_s="convergence_s"), on=CASE, how="left")
    columns = [*CASE, "beta_ecn", "convergence_s", "usual_s", "default"]
    return both.select(columns).sort(*CASE, "beta_ecn")


def counted(flows: int) -> range:
    """The entries that count. Runs of more than four flows begin with those four and the same
    seeds, so that what comes before the fifth is the runs of four once more."""
    return range(2 if flows <= FEWER else FEWER + 1, flows + 1)


def _conditions(run: series.Run) -> dict[str, str | float]:
    about = settings.conditions(run)
    return about | {
        "beta_ecn": about["beta"],
        "rate_mbit": settings.rate(run) / 1e6,
        "flows": len(run.field("experiment.flows")),
    }


def _entries(run: series.Run) -> list[dict[str, str | float | None]]:
    starts = [run.time_ns(f"experiment.flows.{i}.start") for i in range(len(run.field("flows")))]
    goodput = run.records("goodput").collect()
    found: list[dict[str, str | float | None]] = []
    for entry, (start, end) in enumerate(
        zip(starts[1:], [*starts[2:], settings.duration_ns(run)], strict=True), 2
    ):
        if entry not in counted(len(starts)):
            continue
        indices = convergence.index_since(goodput, start, entry, end)
        found += [
            {"entry": entry, "reading": reading, "convergence_s": when(indices)}
            for reading, when in READINGS.items()
        ]
    return found


def plot(table: pl.DataFrame) -> ggplot:
    """The share of entries that take more than a tenth longer, and less, than with the default, by
    beta_ecn; a line per number of flows and a panel per congestion control."""
    case = [ensemble.REPLICA, "control", "flows", "beta_ecn"]
    shares = (
        ensemble.numbered(convergence.changed(table).filter(reading="first"))
        .group_by(case, maintain_order=True)
        .agg(slower=(_ratio() > 1.1).mean(), faster=(_ratio() < 0.9).mean())
    )
    measures = {"slower": "Share that is slower", "faster": "Share that is faster"}
    x, line = ("beta_ecn", "beta_ecn"), ("flows", "Flows")
    return drawing.panels(shares, measures, x, line, ["control"])


def most_slower(
    table: pl.DataFrame, flows: int, by: float, reading: str = "first", beta_to: float = 1.0
) -> Extreme | None:
    """The share of entries that take longer than with the default by more than a share, the largest
    over congestion controls and beta_ecn up to one."""
    own = table.filter(pl.col("beta_ecn") <= beta_to, flows=flows, reading=reading)
    return _most(own, _ratio() > 1 + by)


def most_faster(
    table: pl.DataFrame, flows: int, by: float, reading: str = "first"
) -> Extreme | None:
    """The share of entries that take less than with the default by more than a share, the largest
    over congestion controls and beta_ecn."""
    return _most(table.filter(flows=flows, reading=reading), _ratio() < 1 - by)


METRICS = (most_faster, most_slower)


def _most(table: pl.DataFrame, what: pl.Expr) -> Extreme | None:
    shares = (
        convergence.changed(table)
        .group_by("control", "beta_ecn", maintain_order=True)
        .agg(share=what.mean())
    )
    return largest(shares, "share")


def _ratio() -> pl.Expr:
    """Of the times with a beta_ecn and with the default, also where they do not come."""
    never, never_usual = pl.col("convergence_s").is_null(), pl.col("usual_s").is_null()
    return (
        pl.when(never & never_usual)
        .then(1.0)
        .when(never)
        .then(inf)
        .when(never_usual)
        .then(0.0)
        .otherwise(pl.col("convergence_s") / pl.col("usual_s"))
    )
