"""Why HyStart ends slow start where it does: other initial windows and other noises."""

from collections.abc import Sequence

import plotnine as p9
import polars as pl

from pipelines.flow_startup import hystart
from sandglass.papers.verdicts import Extreme, farthest, largest, scalar
from sandglass.results import series, style

CALM, WINDOW = "none", 10


def table(runs: Sequence[series.Run]) -> pl.DataFrame:
    """One row per initial window and noise, of one flow each with ACK trains: `end_bdp` and
    `by_hystart` of `hystart`."""
    case = ["initial_window", "noise"]
    found = series.along(runs, "initial_window", hystart.table)
    return found.select(*case, "end_bdp", "by_hystart").sort(case)


def plot(table: pl.DataFrame) -> p9.ggplot:
    """Windows at the end of slow start by initial window and noise. Dotted: the bandwidth-delay
    product."""
    shown = table.with_columns(pl.col("initial_window").cast(pl.String))
    drawn: p9.ggplot = (
        p9.ggplot(shown, p9.aes("noise", "end_bdp", color="initial_window", shape="initial_window"))
        + p9.geom_hline(yintercept=1, linetype="dotted", color="#666666")
        + p9.geom_point(size=1.8, alpha=0.6)
        + p9.scale_color_manual(style.PALETTE)
        + p9.scale_shape_manual(style.SHAPES)
        + p9.labs(
            x="Noise",
            y="Window at the end of slow start (BDP)",
            color="Initial window",
            shape="Initial window",
        )
    )
    return drawn


def calm_end(table: pl.DataFrame, initial_window: int) -> float | None:
    """The window at the end of slow start over the bandwidth-delay product without noise."""
    return scalar(table.filter(noise=CALM, initial_window=initial_window)["end_bdp"].mean())


def most_early(table: pl.DataFrame) -> Extreme | None:
    """The share of slow starts that HyStart ends too early, the largest over noises."""
    early = pl.col("by_hystart") & (pl.col("end_bdp") < hystart.EARLY)
    return largest(_noisy(table).select("noise", early=early.cast(pl.Float64)), "early")


def miscalculation(table: pl.DataFrame) -> Extreme | None:
    """How far the end of slow start is from that without noise, as a share of it, the farthest over
    noises."""
    calm = calm_end(table, WINDOW)
    off = _noisy(table).select("noise", off=pl.col("end_bdp") / calm - 1)
    return None if calm is None else farthest(off, "off")


METRICS = (calm_end, most_early, miscalculation)


def _noisy(table: pl.DataFrame) -> pl.DataFrame:
    return table.filter((pl.col("noise") != CALM) & (pl.col("initial_window") == WINDOW))
