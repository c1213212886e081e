"""Why Fig. 3 differs below 60 ms: CoDel's target as the buffer of eq. (5)."""

from collections.abc import Sequence

import plotnine as p9
import polars as pl

from pipelines.abe import fig03
from sandglass.experiment import units
from sandglass.papers import formulas
from sandglass.papers.verdicts import Extreme, largest, least
from sandglass.results import series, style

CUBIC_BETA = 0.7


def table(runs: Sequence[series.Run]) -> pl.DataFrame:
    """Fig. 3's table; `share` of what the link carries, and `model`, eq. (5) with the target."""
    return (
        fig03.table(runs)
        .with_columns(
            share=pl.col("throughput_mbit") / pl.col("capacity_mbit"),
            target_ms=pl.col("target").map_elements(units.parse_time, pl.Int64) / 1e6,
        )
        .with_columns(
            model=pl.struct("target_ms", "rtt_ms").map_elements(
                lambda row: formulas.utilisation(CUBIC_BETA, row["target_ms"], row["rtt_ms"]),
                pl.Float64,
            )
        )
        .sort("target_ms", "ecn", "rtt_ms")
    )


def plot(table: pl.DataFrame) -> p9.ggplot:
    """A panel per ECN, a colour per target; points are measured, lines are the model."""
    shown = table.with_columns(
        factor=pl.format("{} ms", pl.col("target_ms").cast(pl.Int64)),
        panel=pl.format("{} ECN", pl.col("ecn")),
    )
    drawn: p9.ggplot = (
        p9.ggplot(shown, p9.aes("rtt_ms", color="factor", shape="factor"))
        + p9.facet_wrap("panel")
        + p9.geom_line(p9.aes(y="model"))
        + p9.geom_point(p9.aes(y="share"), size=2)
        + p9.scale_color_manual(style.PALETTE)
        + p9.scale_shape_manual(style.SHAPES)
        + p9.labs(
            x="Base RTT (ms)",
            y="Share of the link's capacity",
            color="CoDel's target",
            shape="CoDel's target",
        )
    )
    return drawn


def lost(
    table: pl.DataFrame, target_ms: float, over_ms: float, rtt_ms: float, most: bool
) -> Extreme | None:
    """By which share throughput with a target is below that with another, at one RTT; the largest
    or the least with and without ECN."""
    both = _pairs(table, target_ms, over_ms).filter(pl.col("rtt_ms") == rtt_ms)
    below = both.select("ecn", lost=1 - pl.col("throughput_mbit") / pl.col("throughput_mbit_over"))
    return largest(below, "lost") if most else least(below, "lost")


METRICS = (lost,)


def _pairs(table: pl.DataFrame, target_ms: float, over_ms: float) -> pl.DataFrame:
    one, other = (table.filter(pl.col("target_ms") == ms) for ms in (target_ms, over_ms))
    return one.join(other, on=["ecn", "rtt_ms"], suffix="_over")
