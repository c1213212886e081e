"""Figs. 14 and 15: what CUBIC flows with ECN get, over what NewReno flows without ECN get."""

from collections.abc import Sequence

import plotnine as p9
import polars as pl

from pipelines.abe import settings
from sandglass.experiment import units
from sandglass.papers.verdicts import Extreme, least, scalar
from sandglass.results import series, style

CUT_NS = 2_000_000_000  # stated (IV-C): the first two seconds are cut, to remove slow start
QUEUES = {"fig14": "CoDel", "fig15": "PIE"}


def throughput_ratio(goodput: pl.DataFrame, groups: Sequence[int]) -> float:
    """Bytes per flow of the first group over bytes per flow of the second, after the cut.

    Takes the goodput record, and how many flows each group has, numbered in this order. Stated
    (IV-C): "normalized by weighting it with the number of flows in each group".
    """
    size = goodput.group_by("flow").agg(
        bytes=pl.col("bytes").last().cast(pl.Int64)
        - pl.col("bytes").filter(pl.col("time_ns") <= CUT_NS).last().fill_null(0).cast(pl.Int64)
    )
    first = pl.col("flow") <= groups[0]
    ours, theirs = (int(size.filter(group)["bytes"].sum()) for group in (first, ~first))
    return (ours / groups[0]) / (theirs / groups[1])


def table(runs: Sequence[series.Run]) -> pl.DataFrame:
    """One row per queue, split, RTT and beta_ecn, and one more where the ACKs were recorded.

    The former have `ratio`; the latter are the same flows once more, and have `sawteeth` alone.
    """
    measured = pl.DataFrame(
        [_measured(run) for run in runs], schema={"ratio": pl.Float64, "sawteeth": pl.Float64}
    )
    rows = series.tidy(runs, {}).hstack(measured)
    return rows.select(
        queue=pl.col("experiment").replace_strict(QUEUES),
        split="split",
        rtt_ms=pl.col("rtt").map_elements(units.parse_time, pl.Int64) / 1e6,
        beta_ecn=settings.hundredths(pl.col("beta_ecn")),
        ratio="ratio",
        sawteeth="sawteeth",
    ).sort("queue", "rtt_ms", "beta_ecn", "split", "sawteeth")


def _measured(run: series.Run) -> dict[str, float | None]:
    if "acks" in run.field("experiment.record"):
        return {"sawteeth": _sawteeth(run)}
    groups = [flow["count"] for flow in run.field("experiment.flows")]
    return {"ratio": throughput_ratio(run.records("goodput").collect(), groups)}


def _sawteeth(run: series.Run) -> float | None:
    """Window reductions of a NewReno flow, in the mean."""
    reductions = (
        run.records("acks")
        .filter((pl.col("cc") == "reno") & (pl.col("time_ns") > CUT_NS))
        .sort("flow", "time_ns")
        .group_by("flow")
        .agg(cuts=(pl.col("ssthresh_packets").diff() != 0).sum())
        .collect()
    )
    return scalar(reductions["cuts"].mean())


def drawn(table: pl.DataFrame, queue: str) -> p9.ggplot:
    """A line per RTT through the means, large dots at the medians; small ones are single tests."""
    own = table.filter(pl.col("queue") == queue).drop_nulls("ratio")
    own = own.with_columns(rtt=settings.rtt_label(own))
    means = own.group_by("rtt", "beta_ecn", maintain_order=True).agg(
        mean=pl.col("ratio").mean(), median=pl.col("ratio").median()
    )
    figure: p9.ggplot = (
        p9.ggplot(means, p9.aes("beta_ecn", color="rtt", linetype="rtt", shape="rtt"))
        + p9.geom_hline(yintercept=1, linetype="dotted", color="#666666")
        + p9.geom_point(p9.aes(y="ratio"), data=own, alpha=0.25, size=1)
        + p9.geom_line(p9.aes(y="mean"))
        + p9.geom_point(p9.aes(y="median"), size=2.2)
        + p9.scale_color_manual(style.PALETTE)
        + p9.scale_shape_manual(style.SHAPES)
        + p9.scale_linetype_manual(style.LINES)
        + p9.labs(
            x="beta_ecn",
            y="Throughput per flow, CUBIC / NewReno",
            color="Base RTT",
            shape="Base RTT",
            linetype="Base RTT",
        )
    )
    return figure


def distance_below(table: pl.DataFrame, queue: str, beta: float) -> float | None:
    """The distance of the mean ratios from 1, mean over the RTTs, of the smaller beta_ecn that is
    farthest, over that of `beta`; of logarithms, so that 1/2 is as far as 2."""
    own = table.filter(pl.col("queue") == queue)
    means = (
        own.group_by("beta_ecn", "rtt_ms")
        .agg(distance=pl.col("ratio").mean().log().abs())
        .group_by("beta_ecn")
        .agg(pl.col("distance").mean())
    )
    smaller = scalar(means.filter(pl.col("beta_ecn") < beta)["distance"].max())
    at = scalar(means.filter(pl.col("beta_ecn") == beta)["distance"].max())
    return smaller / at if smaller is not None and at else None


def trend(table: pl.DataFrame, queue: str) -> Extreme | None:
    """Spearman's correlation of the mean ratio with beta_ecn; the least over the RTTs."""
    own = table.filter(pl.col("queue") == queue)
    ranks = (
        own.group_by("rtt_ms", "beta_ecn")
        .agg(pl.col("ratio").mean())
        .group_by("rtt_ms")
        .agg(rho=pl.corr("beta_ecn", "ratio", method="spearman"))
    )
    return least(ranks, "rho")


def difference(table: pl.DataFrame) -> float | None:
    """How far the AQMs' mean ratios are apart, as a share of their mean, over the beta_ecn."""
    means = table.group_by("queue", "beta_ecn").agg(pl.col("ratio").mean())
    spread = means.group_by("beta_ecn").agg(
        apart=(pl.col("ratio").max() - pl.col("ratio").min()) / pl.col("ratio").mean(),
        queues=pl.len(),
    )
    return scalar(spread.filter(pl.col("queues") > 1)["apart"].mean())
