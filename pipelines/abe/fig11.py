"""Fig. 11: throughput and median RTT of one NewReno flow through CoDel against the base RTT."""

from collections.abc import Sequence

import plotnine as p9
import polars as pl

from pipelines.abe import settings
from sandglass.papers import ensemble
from sandglass.papers.verdicts import Extreme, farthest, least, scalar
from sandglass.results import series, style

PANELS = {
    "throughput_mbit": "(a) Throughput (Mb/s)",
    "median_rtt_ms": "(b) Median RTT (ms)",
}


def table(runs: Sequence[series.Run]) -> pl.DataFrame:
    """One row per run. The RTT is the sender's smoothed one (RFC 6298); its median is over ACKs."""
    return pl.DataFrame([_row(run) for run in runs]).sort("beta", "rtt_ms")


def _row(run: series.Run) -> dict[str, float | None]:
    srtt_us = run.records("acks").select(pl.col("srtt_us").median()).collect().item()
    return {
        "beta": settings.beta_ecn(run),
        "rtt_ms": settings.rtt_ns(run) / 1e6,
        "throughput_mbit": run.field("flows.0.goodput_mbit"),
        "capacity_mbit": settings.rate(run) / 1e6 * settings.PAYLOAD_SHARE,
        "median_rtt_ms": srtt_us / 1e3,
    }


def plot(table: pl.DataFrame) -> p9.ggplot:
    long = (
        table.with_columns(factor=pl.col("beta").cast(pl.String))
        .unpivot(list(PANELS), index=["factor", "rtt_ms"])
        .with_columns(panel=pl.col("variable").replace_strict(PANELS))
    )
    shown = ensemble.means(long, ["factor", "rtt_ms", "panel"], "value")
    drawn: p9.ggplot = (
        p9.ggplot(shown, p9.aes("rtt_ms", "value", color="factor", shape="factor"))
        + p9.facet_wrap("panel", scales="free_y")
        + ensemble.band(shown, "factor")
        + p9.geom_line()
        + p9.geom_point(size=2)
        + p9.scale_color_manual(style.PALETTE)
        + p9.scale_fill_manual(style.PALETTE)
        + p9.scale_shape_manual(style.SHAPES)
        + p9.labs(x="Base RTT (ms)", y="", color="beta_ecn", shape="beta_ecn", fill="beta_ecn")
    )
    return drawn


def least_step(table: pl.DataFrame) -> Extreme | None:
    """The least that a step of beta to the next larger adds at the largest RTT, as a share."""
    steps = _far(table).sort("beta").select("beta", step=pl.col("throughput_mbit").pct_change())
    return least(steps, "step")


def recovered(table: pl.DataFrame, beta: float, over: float) -> float | None:
    """What a larger beta adds to throughput at the largest RTT, as a share."""
    one, other = (_far(table).filter(pl.col("beta") == b)["throughput_mbit"] for b in (beta, over))
    return scalar((one / other - 1).max()) if len(one) == len(other) == 1 else None


def rtt_change(table: pl.DataFrame, over: float, rtt_above_ms: float) -> Extreme | None:
    """The largest change of the median RTT against a beta's, as a share of the base RTT.

    Over the base RTTs above a bound.
    """
    both = table.join(table.filter(pl.col("beta") == over), on="rtt_ms", suffix="_over").filter(
        (pl.col("beta") != over) & (pl.col("rtt_ms") > rtt_above_ms)
    )
    change = (pl.col("median_rtt_ms") - pl.col("median_rtt_ms_over")) / pl.col("rtt_ms")
    return farthest(both.select("beta", "rtt_ms", change=change), "change")


METRICS = (least_step, recovered, rtt_change)


def _far(table: pl.DataFrame) -> pl.DataFrame:
    return table.filter(pl.col("rtt_ms") == pl.col("rtt_ms").max())
