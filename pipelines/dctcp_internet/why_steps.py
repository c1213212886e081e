"""Why packets do not make steps to the last byte: thresholds on both sides of a small segment."""

from collections.abc import Sequence

import polars as pl
from plotnine import aes, geom_line, geom_point, ggplot, labs, scale_color_manual

from pipelines.dctcp_internet import fig05, sharing
from sandglass.papers.verdicts import scalar
from sandglass.results import series, style


def table(runs: Sequence[series.Run]) -> pl.DataFrame:
    """One row per run: `relative` = K / Min_Thresh_Reno, `seed`, and how the flows share."""
    rows = [
        fig05.thresholds(run) | {"seed": int(run.field("experiment.seed"))} | sharing.steady(run)
        for run in runs
    ]
    return pl.DataFrame(rows).sort("relative", "seed")


def plot(table: pl.DataFrame) -> ggplot:
    """The ratio against K, a line per seed."""
    drawn: ggplot = (
        ggplot(table.with_columns(pl.col("seed").cast(pl.String)), aes("relative", "ratio"))
        + geom_line(aes(color="seed"))
        + geom_point(aes(color="seed"))
        + scale_color_manual(style.PALETTE)
        + labs(x="K / Min_Thresh_Reno", y=sharing.RATIO, color="Seed")
    )
    return drawn


def apart(table: pl.DataFrame, low: float, high: float) -> float | None:
    """The ratios at two K, the larger over the smaller: the largest over the seeds."""
    at = [table.filter((pl.col("relative") - k).abs() < 1e-6).sort("seed") for k in (low, high)]
    ratios = at[0]["ratio"] / at[1]["ratio"]
    return scalar(pl.select(pl.max_horizontal(ratios, 1 / ratios)).to_series().max())


METRICS = (apart,)
