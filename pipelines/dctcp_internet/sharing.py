"""How flows share the link in steady state, and where they share it equally."""

import math
from collections.abc import Sequence

import plotnine as p9
import polars as pl

from sandglass.errors import SandglassError
from sandglass.experiment import units
from sandglass.papers import ensemble
from sandglass.papers.verdicts import Extreme, least, scalar
from sandglass.results import series, style
from sandglass.results.series import Run
from sandglass.studies import statistics

WARM_UP_NS = 10 * 10**9
"""Slow start and what it leaves in averages, which no figure but the first is about."""

CC_RENO = "reno"
MEASURES = ("ratio", "utilisation", "occupancy", "jain")
RATIO = "Throughput, Reno / DCTCP"
"""The panel of the ratio."""


def bdp_bytes(run: Run) -> float:
    """The bandwidth-delay product, bytes."""
    rate = run.rate_bps("experiment.bottleneck.rate")
    return float(units.bdp_bytes(rate, run.time_ns("experiment.rtt")))


def setting(run: Run, option: str) -> float:
    """A threshold of the queue as the experiment has it, in BDP."""
    length = units.parse_length(run.field(f"experiment.bottleneck.queue.{option}"))
    if length.unit != "bdp":
        raise SandglassError(f"{run.directory}: {option} is no share of the BDP")
    return float(length.amount)


def probability(run: Run, kind: str) -> float:
    """The maximum probability of the RED that drops or marks."""
    return float(run.field(f"experiment.bottleneck.queue.{kind}_probability"))


def goodputs(run: Run) -> pl.DataFrame:
    """One row per flow: `reno`, whether it is one, and `mbit`, its goodput after the warm-up."""
    kinds = pl.DataFrame(
        [(flow["id"], flow["cc"] == CC_RENO) for flow in run.field("flows")],
        schema={"flow": pl.UInt16, "reno": pl.Boolean},
        orient="row",
    )
    end = run.time_ns("experiment.duration")
    before = pl.col("bytes").filter(pl.col("time_ns") <= WARM_UP_NS).max().fill_null(0)
    sent = (
        run.records("goodput")
        .with_columns(pl.col("bytes").cast(pl.Int64))
        .group_by("flow")
        .agg(mbit=(pl.col("bytes").max() - before) * 8e3 / (end - WARM_UP_NS))
        .collect()
    )
    return kinds.join(sent, on="flow", how="left", maintain_order="left").fill_null(0)


def steady(run: Run) -> dict[str, float]:
    """After the warm-up: `ratio` of a Reno flow's mean goodput and a DCTCP flow's (NaN without
    both), `jain` over all flows, `utilisation` of the link, `occupancy`, the mean queue in BDP."""
    flows = goodputs(run)
    reno, other = (
        scalar(flows.filter(pl.col("reno") == kind)["mbit"].mean()) for kind in (True, False)
    )
    samples = series.queue_samples(run).filter(pl.col("time_ns") >= WARM_UP_NS)
    sent = samples["sent_bytes"].cast(pl.Int64)
    seconds = (samples["time_ns"][-1] - samples["time_ns"][0]) / 1e9
    rate = run.rate_bps("experiment.bottleneck.rate")
    backlog = scalar(samples["backlog_bytes"].mean()) or 0.0
    return {
        "ratio": reno / other if reno and other else math.nan,
        "jain": statistics.jain(flows["mbit"].to_list()),
        "utilisation": (sent[-1] - sent[0]) * 8 / (seconds * rate),
        "occupancy": backlog / bdp_bytes(run),
    }


def delay_ms(run: Run, quantile: float) -> float:
    """A quantile of the queueing delay after the warm-up, in ms: of the queue's samples, each as
    long as the link takes for it."""
    samples = series.queue_samples(run).filter(pl.col("time_ns") >= WARM_UP_NS)
    rate = run.rate_bps("experiment.bottleneck.rate")
    return (scalar(samples["backlog_bytes"].quantile(quantile)) or 0.0) * 8e3 / rate


def means(rows: Sequence[dict[str, float]]) -> pl.DataFrame:
    """Means over the seeds of rows that are alike but for MEASURES; of ratios the geometric one."""
    keys = [name for name in rows[0] if name not in MEASURES]
    return (
        pl.DataFrame(rows)
        .group_by(keys)
        .agg(
            pl.len().alias("seeds"),
            pl.col("ratio").log().mean().exp(),
            pl.col("utilisation", "occupancy", "jain").mean(),
        )
        .sort(keys)
    )


def equal_sharing(table: pl.DataFrame, over: str) -> dict[str, float] | None:
    """Where the ratio falls through 1 as `over` grows, by linear interpolation of its logarithm:
    the place `over`, and the other measures there. None where it does not."""
    points = table.sort(over).with_columns(level=pl.col("ratio").log())
    for low, high in zip(
        points.head(-1).iter_rows(named=True), points.tail(-1).iter_rows(named=True), strict=True
    ):
        if low["level"] >= 0 > high["level"]:
            part = low["level"] / (low["level"] - high["level"])
            names = (over, "utilisation", "occupancy")
            return {name: low[name] + part * (high[name] - low[name]) for name in names}
    return None


def rise(table: pl.DataFrame, over: str, lines: str, measure: str) -> Extreme | None:
    """Spearman's correlation of a measure with `over`, the least over the `lines`."""
    ranks = table.group_by(lines).agg(rho=pl.corr(over, measure, method="spearman"))
    return least(ranks, "rho")


def label(column: str, text: str) -> pl.Expr:
    """Numbers as a legend shows them, such as '0.5 BDP'."""
    return pl.format(text, pl.col(column).round(3))


def draw(table: pl.DataFrame, over: str, lines: str, measures: dict[str, str]) -> p9.ggplot:
    """A panel per measure against the column `over`, a line per value of `lines`, of replicas
    their mean with its interval; dotted: equal shares. The labels of axis and legend are the
    figure's."""
    shown = ensemble.measure_means(table, measures, [lines, over])
    drawn: p9.ggplot = (
        p9.ggplot(shown, p9.aes(over, "value", color=lines, shape=lines))
        + p9.facet_wrap("measure", scales="free_y")
        + _equal_shares(shown)
        + ensemble.band(shown, lines)
        + p9.geom_line()
        + p9.geom_point(size=1.5)
        + p9.scale_color_manual(style.PALETTE)
        + p9.scale_fill_manual(style.PALETTE)
        + p9.scale_shape_manual(style.SHAPES)
    )
    return drawn


def _equal_shares(shown: pl.DataFrame) -> p9.geom_hline | None:
    """A line at equal shares in the panel of the ratio, where there is one."""
    panel = shown.filter(pl.col("measure") == RATIO).select("measure").head(1)
    if panel.is_empty():
        return None
    return p9.geom_hline(p9.aes(yintercept="y"), panel.with_columns(y=1.0), linetype="dotted")
