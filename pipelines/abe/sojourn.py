"""Figs. 8 and 10: how long packets wait in the queue, for several beta_ecn."""

from collections.abc import Sequence

import plotnine as p9
import polars as pl

from pipelines.abe import settings
from sandglass.papers import ensemble
from sandglass.papers.verdicts import Extreme, farthest, scalar
from sandglass.results import series, style

PERCENTILES = range(1, 100)
TARGET_MS = {"CoDel": 5.0, "PIE": 20.0}  # stated (IV-A)
SHOWN_MS = 60.0


def table(runs: Sequence[series.Run]) -> pl.DataFrame:
    """One row per congestion control, queue, RTT, beta and percentile of the sojourn time.

    Exact, over all packets that the queue sent in all seeds, from the start of the flow on.
    """
    waits = pl.concat([_waits(run) for run in runs])
    quantiles = [pl.col("sojourn_ns").quantile(percent / 100, "nearest") for percent in PERCENTILES]
    return (
        waits.group_by("control", "queue", "rtt_ms", "beta")
        .agg(
            delay_ns=pl.concat_list(quantiles),
            percentile=pl.lit(list(PERCENTILES)),
        )
        .explode("delay_ns", "percentile")
        .select(pl.all().exclude("delay_ns"), delay_ms=pl.col("delay_ns") / 1e6)
        .sort("control", "queue", "rtt_ms", "beta", "percentile")
    )


def _waits(run: series.Run) -> pl.DataFrame:
    sent = series.forward(run).filter(pl.col("sojourn_ns").is_not_null())
    return sent.select(
        *[pl.lit(value).alias(name) for name, value in settings.conditions(run).items()],
        "sojourn_ns",
    ).collect()


def plot(table: pl.DataFrame) -> p9.ggplot:
    """The distribution function, a panel per queue and RTT, a line per beta; of replicas the mean
    of each percentile with its interval, which lies along the axis of the delay."""
    own = table.with_columns(
        factor=pl.col("beta").cast(pl.String),
        path=pl.format("RTT {} ms", pl.col("rtt_ms").cast(pl.Int64)),
        target_ms=pl.col("queue").replace_strict(TARGET_MS, return_dtype=pl.Float64),
    )
    point = ["queue", "path", "target_ms", "factor", "percentile"]
    shown = ensemble.means(own, point, "delay_ms")
    drawn: p9.ggplot = (
        p9.ggplot(shown, p9.aes("percentile", "delay_ms", color="factor"))
        + p9.facet_grid("queue", "path")
        + p9.geom_hline(p9.aes(yintercept="target_ms"), linetype="dotted", color="#666666")
        + ensemble.band(shown, "factor")
        + p9.geom_line()
        + p9.coord_flip(ylim=(0, SHOWN_MS))
        + p9.scale_color_manual(style.PALETTE)
        + p9.scale_fill_manual(style.PALETTE)
        + p9.labs(
            x="Share of packets (%)", y="Queueing delay (ms)", color="beta_ecn", fill="beta_ecn"
        )
    )
    return drawn


def added(
    table: pl.DataFrame, control: str, queue: str, rtt_ms: float, beta: float, percentile: int
) -> float | None:
    """What a beta adds to a percentile over the control's own beta, ms."""
    chosen = _of(table, control, queue).filter(
        (pl.col("rtt_ms") == rtt_ms) & (pl.col("percentile") == percentile)
    )
    one, own = (
        chosen.filter(pl.col("beta") == b)["delay_ms"] for b in (beta, settings.DEFAULTS[control])
    )
    return scalar((one - own).max()) if len(one) == len(own) == 1 else None


def off_target(table: pl.DataFrame, control: str, queue: str, percentile: int) -> Extreme | None:
    """How far a percentile of delay is from the AQM's target, either way, ms.

    The largest distance over all RTTs and betas.
    """
    chosen = _of(table, control, queue).filter(pl.col("percentile") == percentile)
    off = pl.col("delay_ms") - TARGET_MS[queue]
    return farthest(chosen.select("rtt_ms", "beta", off=off), "off")


def tail_order(table: pl.DataFrame, control: str, queue: str) -> float | None:
    """Spearman's correlation of the 95th percentile with beta, mean over the RTTs."""
    tails = _of(table, control, queue).filter(pl.col("percentile") == 95)
    ranks = tails.group_by("rtt_ms").agg(rho=pl.corr("beta", "delay_ms", method="spearman"))
    return scalar(ranks["rho"].mean())


METRICS = (added, off_target, tail_order)


def _of(table: pl.DataFrame, control: str, queue: str) -> pl.DataFrame:
    return table.filter((pl.col("control") == control) & (pl.col("queue") == queue))
