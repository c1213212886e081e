"""Section IV-B and the slides: the mean delay, and what PIE's burst allowance does to the tail."""

from collections.abc import Sequence

import polars as pl
from plotnine import ggplot

from pipelines.abe import drawing, settings
from sandglass.experiment import units
from sandglass.papers.verdicts import Extreme, least, scalar
from sandglass.results import series

AFTER_NS = 10_000_000_000
"""Slow start and its overshoot are over by then: they take 3 s at the largest RTT."""
USUAL_BURST_MS = 100.0
"""PIE's own, stated (IV-A)."""


def table(runs: Sequence[series.Run]) -> pl.DataFrame:
    """One row per queue, base RTT, beta and burst allowance (0 of CoDel, which has none).

    `mean_ms` is the mean queueing delay of the packets that came after slow start, `tail_ms` its
    99th percentile less the median over all packets, as in Figs. 8 and 10.
    """
    return pl.DataFrame([_row(run) for run in runs]).sort("queue", "rtt_ms", "beta", "burst_ms")


def _row(run: series.Run) -> dict[str, str | float | None]:
    burst = run.field("experiment.bottleneck.queue").get("max_burst", "0s")
    delay = pl.col("sojourn_ns") / 1e6
    found = (
        series.forward(run)
        .filter(pl.col("sojourn_ns").is_not_null())
        .select(
            mean_ms=delay.filter(pl.col("enqueue_ns") >= AFTER_NS).mean(),
            tail_ms=delay.quantile(0.99, "nearest") - delay.quantile(0.5, "nearest"),
        )
        .collect()
    )
    own = settings.conditions(run)
    return {
        "queue": str(own["queue"]),
        "rtt_ms": own["rtt_ms"],
        "beta": own["beta"],
        "burst_ms": units.parse_time(burst) / 1e6,
        **found.row(0, named=True),
    }


def plot(table: pl.DataFrame) -> ggplot:
    """The mean delay against the RTT, a panel per AQM, with PIE's own burst allowance."""
    own = table.filter(_usual())
    return drawing.panels(
        own,
        {"mean_ms": "Mean queueing delay (ms)"},
        ("rtt_ms", "Base RTT (ms)"),
        ("beta", "beta_ecn"),
        apart=["queue"],
    )


def burst_trend(table: pl.DataFrame, rtt_ms: float) -> float | None:
    """Spearman's correlation of PIE's tail with its burst allowance, mean over the betas; 0 of one
    that it does not change."""
    own = table.filter(pl.col("queue") == "PIE", pl.col("rtt_ms") == rtt_ms)
    ranks = own.group_by("beta").agg(rho=pl.corr("burst_ms", "tail_ms", method="spearman"))
    return scalar(ranks["rho"].fill_nan(0).mean())


def heavier_tail(table: pl.DataFrame, rtt_ms: float) -> Extreme | None:
    """PIE's tail less CoDel's, ms; the least over the betas."""
    own = table.filter(pl.col("rtt_ms") == rtt_ms, _usual())
    tails = own.pivot("queue", index="beta", values="tail_ms", aggregate_function="first")
    if not {"CoDel", "PIE"} <= set(tails.columns):
        return None
    return least(tails.select("beta", more=pl.col("PIE") - pl.col("CoDel")), "more")


METRICS = (burst_trend, heavier_tail)


def _usual() -> pl.Expr:
    """With PIE's own burst allowance."""
    return (pl.col("queue") == "CoDel") | (pl.col("burst_ms") == USUAL_BURST_MS)
