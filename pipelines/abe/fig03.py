"""Fig. 3: throughput of one CUBIC flow through CoDel and PIE, with and without ECN, against RTT."""

import math
from collections.abc import Sequence

import plotnine as p9
import polars as pl

from pipelines.abe import settings
from sandglass.experiment import units
from sandglass.papers import ensemble
from sandglass.papers.verdicts import Extreme, largest, least, scalar
from sandglass.results import series, style

QUEUES = {"fig03-codel": "CoDel", "fig03-pie": "PIE", "fig03-droptail": "DropTail"}


def table(runs: Sequence[series.Run]) -> pl.DataFrame:
    """One row per run. Throughput is goodput, as iperf reports it; delay is the forward queue's."""
    rows = series.tidy(
        runs,
        {
            "rate": "experiment.bottleneck.rate",
            "throughput_mbit": "flows.0.goodput_mbit",
            "utilisation": "bottleneck.utilisation",
            "queue_delay_median_ms": "bottleneck.queue_delay_ms.median",
            "queue_delay_p95_ms": "bottleneck.queue_delay_ms.p95",
            "drops": "bottleneck.drops",
            "marks": "bottleneck.marks",
        },
    )
    return rows.select(
        queue=pl.col("experiment").replace_strict(QUEUES),
        ecn=pl.col("ecn").fill_null("without"),
        rtt_ms=pl.col("rtt").map_elements(units.parse_time, pl.Int64) / 1e6,
        capacity_mbit=pl.col("rate").map_elements(units.parse_rate, pl.Int64)
        / 1e6
        * settings.PAYLOAD_SHARE,
        **{
            name: pl.col(name)
            for name in rows.columns
            if name not in {"experiment", "ecn", "rtt", "duration", "rate"}
        },
    ).sort("queue", "ecn", "rtt_ms")


def plot(table: pl.DataFrame) -> p9.ggplot:
    """One panel per AQM, as (a) and (b), of replicas their mean with its interval; DropTail is for
    the footnote and stays in the table."""
    measured = table.filter(pl.col("queue") != "DropTail")
    point = ["queue", "ecn", "rtt_ms", "capacity_mbit"]
    shown = ensemble.means(measured, point, "throughput_mbit")
    drawn: p9.ggplot = (
        p9.ggplot(
            shown, p9.aes("rtt_ms", "throughput_mbit", color="ecn", shape="ecn", linetype="ecn")
        )
        + p9.facet_wrap("queue")
        + p9.geom_hline(p9.aes(yintercept="capacity_mbit"), linetype="dotted", color="#666666")
        + ensemble.band(shown, "ecn")
        + p9.geom_line()
        + p9.geom_point(size=2)
        + p9.scale_color_manual(style.PALETTE)
        + p9.scale_fill_manual(style.PALETTE)
        + p9.scale_shape_manual(style.SHAPES)
        + p9.scale_linetype_manual(style.LINES)
        + p9.expand_limits(y=0)
        + p9.labs(
            x="Base RTT (ms)",
            y="Throughput (Mb/s)",
            color="ECN",
            fill="ECN",
            shape="ECN",
            linetype="ECN",
        )
    )
    return drawn


def least_share(
    table: pl.DataFrame, queue: str, rtt_up_to_ms: float = math.inf, rtt_above_ms: float = 0
) -> Extreme | None:
    """The smallest throughput, as a share of what the link carries, at RTTs between bounds."""
    chosen = _of(table, queue).filter(
        pl.col("rtt_ms") > rtt_above_ms, pl.col("rtt_ms") <= rtt_up_to_ms
    )
    share = pl.col("throughput_mbit") / pl.col("capacity_mbit")
    return least(chosen.select("ecn", "rtt_ms", share=share), "share")


def far_to_near(table: pl.DataFrame, queue: str, near_ms: float, far_ms: float) -> Extreme | None:
    """The best throughput at RTTs above `far_ms` over the worst up to `near_ms`; larger of both."""
    own = _of(table, queue).select("ecn", "rtt_ms", "throughput_mbit")
    near = own.filter(pl.col("rtt_ms") <= near_ms)
    pairs = own.filter(pl.col("rtt_ms") > far_ms).join(near, on="ecn", suffix="_near")
    ratio = pl.col("throughput_mbit") / pl.col("throughput_mbit_near")
    return largest(pairs.select("ecn", "rtt_ms", "rtt_ms_near", ratio=ratio), "ratio")


def trend(table: pl.DataFrame, queue: str) -> Extreme | None:
    """Spearman's correlation of throughput with RTT; the larger of both ECN."""
    ranks = (
        _of(table, queue)
        .group_by("ecn")
        .agg(rho=pl.corr("rtt_ms", "throughput_mbit", method="spearman"))
    )
    return largest(ranks, "rho")


def decline(table: pl.DataFrame, queue: str) -> Extreme | None:
    """By which share throughput at the largest RTT is below the smallest's; the smaller of both."""
    ends = (
        _of(table, queue)
        .sort("rtt_ms")
        .group_by("ecn")
        .agg(decline=1 - pl.col("throughput_mbit").last() / pl.col("throughput_mbit").first())
    )
    return least(ends, "decline")


def ecn_gain(table: pl.DataFrame, queue: str, rtt_above_ms: float) -> float | None:
    """What ECN adds to throughput, as a share, in the mean over the RTTs above a bound."""
    chosen = _of(table, queue).filter(pl.col("rtt_ms") > rtt_above_ms)
    both = chosen.filter(pl.col("ecn") == "with").join(
        chosen.filter(pl.col("ecn") == "without"), on="rtt_ms", suffix="_without"
    )
    return scalar((both["throughput_mbit"] / both["throughput_mbit_without"] - 1).mean())


def delay_ratio(table: pl.DataFrame, queue: str, over: str, rtt_above_ms: float) -> Extreme | None:
    """95th percentile of delay in `queue` over that in `over`; the least at RTTs above a bound."""
    both = (
        _of(table, queue)
        .join(_of(table, over), on="rtt_ms", suffix="_over")
        .filter(pl.col("rtt_ms") > rtt_above_ms)
    )
    ratio = pl.col("queue_delay_p95_ms") / pl.col("queue_delay_p95_ms_over")
    return least(both.select("rtt_ms", "ecn_over", ratio=ratio), "ratio")


METRICS = (least_share, far_to_near, trend, decline, ecn_gain, delay_ratio)


def _of(table: pl.DataFrame, queue: str) -> pl.DataFrame:
    return table.filter(pl.col("queue") == queue)
