"""Why instantaneous marking differs with C = 1: windows that swing, and windows that stand still."""

from collections.abc import Sequence

import polars as pl
from plotnine import (
    aes,
    facet_wrap,
    geom_point,
    ggplot,
    labs,
    position_dodge,
    scale_color_manual,
    scale_shape_manual,
)

from pipelines.ls_aimd import delays, why_held
from sandglass.papers.verdicts import Extreme, largest, least, scalar
from sandglass.results import series, style

SHOWN = ("mean", "sd", "p95", "p99")


def table(runs: Sequence[series.Run]) -> pl.DataFrame:
    """The table of delays for each `network` and `seed`."""
    return series.along(runs, "seed", why_held.table)


def plot(table: pl.DataFrame) -> ggplot:
    """Each statistic's values by experiment, a point per seed, and the thesis's."""
    shown = (
        delays.beside_thesis(table, "network")
        .filter(pl.col("statistic").is_in(SHOWN))
        .with_columns(
            case=pl.col("case").cast(pl.String),
            statistic=pl.col("statistic").cast(pl.Enum(SHOWN)),
        )
    )
    drawn: ggplot = (
        ggplot(shown, aes("case", "us", color="network", shape="network"))
        + facet_wrap("statistic", ncol=2, scales="free_y")
        + geom_point(size=1.8, position=position_dodge(width=0.5))
        + scale_color_manual(style.PALETTE)
        + scale_shape_manual(style.SHAPES)
        + labs(x="Experiment", y="Queueing delay (us)", color="", shape="")
    )
    return drawn


def _of(table: pl.DataFrame, statistic: str, case: str | None, network: str | None) -> pl.DataFrame:
    rows = table.filter(statistic=statistic)
    if case is not None:
        rows = rows.filter(pl.col("case").cast(pl.String) == case)
    return rows if network is None else rows.filter(network=network)


def between(table: pl.DataFrame) -> float | None:
    """The share of experiments where the thesis's mean lies between the least and the largest of
    ours."""
    ours = pl.col("like_us")
    within = pl.col("thesis_us").first().is_between(ours.min(), ours.max())
    found = _of(table, "mean", None, None).group_by("case").agg(within=within)
    return scalar(found["within"].mean())


def least_over_mean(table: pl.DataFrame, case: str, network: str) -> Extreme | None:
    """The standard deviation over the mean, the least over seeds."""
    return least(_over_mean(table, case, network), "over")


def largest_over_mean(table: pl.DataFrame, case: str, network: str) -> Extreme | None:
    """The same, the largest over seeds."""
    return largest(_over_mean(table, case, network), "over")


def _over_mean(table: pl.DataFrame, case: str, network: str) -> pl.DataFrame:
    """A row per `seed` of the standard deviation `over` the mean."""
    sd, mean = (_of(table, statistic, case, network) for statistic in ("sd", "mean"))
    both = sd.join(mean, on="seed", suffix="_mean", maintain_order="left")
    return both.select("seed", over=pl.col("like_us") / pl.col("like_us_mean"))


def departure(table: pl.DataFrame, network: str, case: str, statistic: str) -> Extreme | None:
    """The relative distance of a value from the thesis's, like for like, the largest over seeds."""
    rows = _of(table, statistic, case, network)
    off = (pl.col("like_us") / pl.col("thesis_us") - 1).abs()
    return largest(rows.select("seed", off=off), "off")


METRICS = (between, least_over_mean, largest_over_mean, departure)
