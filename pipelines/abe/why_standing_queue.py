"""Why Fig. 11 differs at short RTTs: the standing queue that CoDel's target allows."""

from collections.abc import Sequence

import plotnine as p9
import polars as pl

from pipelines.abe import fig11
from sandglass.experiment import units
from sandglass.papers.verdicts import Extreme, least
from sandglass.results import series, style


def table(runs: Sequence[series.Run]) -> pl.DataFrame:
    """Fig. 11's table for each target of CoDel."""
    target_ms = pl.col("target").map_elements(units.parse_time, pl.Int64) / 1e6
    return (
        series.along(runs, "target", fig11.table)
        .with_columns(target_ms=target_ms)
        .drop("target")
        .sort("target_ms", "rtt_ms", "beta")
    )


def plot(table: pl.DataFrame) -> p9.ggplot:
    """What the median RTT is above the base RTT, a panel per RTT, a line per target."""
    shown = table.with_columns(
        target=pl.format("{} ms", pl.col("target_ms").cast(pl.Int64)),
        path=pl.format("RTT {} ms", pl.col("rtt_ms").cast(pl.Int64)),
        above_ms=pl.col("median_rtt_ms") - pl.col("rtt_ms"),
    )
    drawn: p9.ggplot = (
        p9.ggplot(shown, p9.aes("beta", "above_ms", color="target", shape="target"))
        + p9.facet_wrap("path")
        + p9.geom_line()
        + p9.geom_point(size=2)
        + p9.scale_color_manual(style.PALETTE)
        + p9.scale_shape_manual(style.SHAPES)
        + p9.labs(
            x="beta_ecn",
            y="Median RTT above the base RTT (ms)",
            color="CoDel's target",
            shape="CoDel's target",
        )
    )
    return drawn


def rtt_change(
    table: pl.DataFrame, target_ms: float, over: float, rtt_above_ms: float
) -> Extreme | None:
    """The largest change of the median RTT against a beta's, as a share of that RTT."""
    return fig11.rtt_change(table.filter(pl.col("target_ms") == target_ms), over, rtt_above_ms)


def gains_more(
    table: pl.DataFrame, beta: float, than: float, target_ms: float, over_ms: float
) -> Extreme | None:
    """What a beta_ecn adds to the throughput of another with one target, less what it adds with
    another target, as a share; the least over the base RTTs."""
    one, other = (table.filter(pl.col("beta") == each) for each in (beta, than))
    gains = one.join(other, on=["rtt_ms", "target_ms"], suffix="_than").select(
        "rtt_ms",
        "target_ms",
        gain=pl.col("throughput_mbit") / pl.col("throughput_mbit_than") - 1,
    )
    low, high = (gains.filter(pl.col("target_ms") == target) for target in (target_ms, over_ms))
    both = low.join(high, on="rtt_ms", suffix="_over")
    return least(both.select("rtt_ms", more=pl.col("gain") - pl.col("gain_over")), "more")


METRICS = (rtt_change, gains_more)
