"""Section V: marks by the queue as it is, when flows with small and large RTTs share a queue."""

from collections.abc import Sequence

import plotnine as p9
import polars as pl

from pipelines.dctcp_internet import sharing
from sandglass.experiment import units
from sandglass.papers import ensemble
from sandglass.papers.verdicts import Extreme, largest
from sandglass.results import series, style

MEASURES = {"ratio": sharing.RATIO, "p95_ms": "95th percentile of the delay (ms)"}


def table(runs: Sequence[series.Run]) -> pl.DataFrame:
    """One row per pair of RTTs (`reno_ms`, `dctcp_ms`) and `weight` of DCTCP's average: how the
    flows share, and the 95th percentile of the queueing delay, `p95_ms`."""
    rows = []
    for run in runs:
        base = run.field("experiment.rtt")
        reno, dctcp = (
            units.parse_time(run.field(f"experiment.hosts.{host}").get("rtt") or base) / 1e6
            for host in ("s1", "s2")
        )
        weight = float(run.field("experiment.bottleneck.queue.mark_weight"))
        rows.append(
            {"reno_ms": reno, "dctcp_ms": dctcp, "weight": weight}
            | sharing.steady(run)
            | {"p95_ms": sharing.delay_ms(run, 0.95)}
        )
    return pl.DataFrame(rows).sort("reno_ms", "dctcp_ms", "weight")


def plot(table: pl.DataFrame) -> p9.ggplot:
    """Sharing and delay per pair of RTTs, by the weight; of replicas the mean with its interval."""
    named = table.with_columns(
        rtts=pl.format(
            "{}, {}", pl.col("reno_ms").cast(pl.Int64), pl.col("dctcp_ms").cast(pl.Int64)
        ),
        weight=pl.col("weight").cast(pl.String),
    )
    shown = ensemble.measure_means(named, MEASURES, ["rtts", "weight"])
    beside = p9.position_dodge(width=0.4)
    drawn: p9.ggplot = (
        p9.ggplot(shown, p9.aes("rtts", "value", color="weight", shape="weight"))
        + p9.facet_wrap("measure", scales="free_y")
        + (
            p9.geom_point(size=2, position=beside)
            if shown["low"].has_nulls()
            else p9.geom_pointrange(p9.aes(ymin="low", ymax="high"), position=beside)
        )
        + p9.scale_y_log10()
        + p9.scale_color_manual(style.PALETTE)
        + p9.scale_shape_manual(style.SHAPES)
        + p9.labs(x="RTT of Reno, of DCTCP (ms)", y="", color="w_DCTCP", shape="w_DCTCP")
    )
    return drawn


def delay_over(table: pl.DataFrame, unequal: bool) -> Extreme | None:
    """The 95th percentile of the delay with a weight of 1 over that with the least weight, largest
    over the pairs of RTTs that are equal, or not."""
    pairs = _beside(table, "p95_ms").filter((pl.col("reno_ms") != pl.col("dctcp_ms")) == unequal)
    return largest(
        pairs.select("reno_ms", "dctcp_ms", over=pl.col("p95_ms") / pl.col("smoothed")), "over"
    )


def unfairness_over(table: pl.DataFrame) -> Extreme | None:
    """The distance of the throughput ratio from 1, either way, with a weight of 1 over that with
    the least weight, largest over the pairs of unequal RTTs; of a ratio of 3 or 1/3 it is 3."""
    farther = pl.max_horizontal(pl.col("ratio"), 1 / pl.col("ratio"))
    pairs = _beside(table.with_columns(farther=farther), "farther")
    unequal = pairs.filter(pl.col("reno_ms") != pl.col("dctcp_ms"))
    return largest(
        unequal.select("reno_ms", "dctcp_ms", over=pl.col("farther") / pl.col("smoothed")), "over"
    )


METRICS = (delay_over, unfairness_over)


def _beside(table: pl.DataFrame, measure: str) -> pl.DataFrame:
    """Per pair of RTTs a measure with the largest weight, and `smoothed`, with the least."""
    keys = ["reno_ms", "dctcp_ms"]
    ordered = table.sort("weight")
    return ordered.group_by(keys).agg(
        pl.col(measure).last(), pl.col(measure).first().alias("smoothed")
    )
