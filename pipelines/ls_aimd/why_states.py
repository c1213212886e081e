"""Why instantaneous marking differs with C = 1: windows that swing, or stand still."""

from collections.abc import Sequence

import polars as pl

from pipelines.ls_aimd import delays, steady, why_held, why_wait
from sandglass.papers.verdicts import Extreme, largest, least, scalar
from sandglass.results import series

plot = why_wait.plot


def table(runs: Sequence[series.Run]) -> pl.DataFrame:
    """The table of delays for each `network` and `seed`."""
    return series.along(runs, "seed", why_held.table)


def between(table: pl.DataFrame) -> float | None:
    """The share of experiments where the thesis's mean lies between the least and the largest of
    ours."""
    ours = pl.col("like_us")
    within = pl.col("thesis_us").first().is_between(ours.min(), ours.max())
    found = table.filter(statistic="mean").group_by("case").agg(within=within)
    return scalar(found["within"].mean())


def least_over_mean(table: pl.DataFrame, case: str, network: str) -> Extreme | None:
    """The standard deviation over the mean, the least over seeds."""
    return least(_over_mean(table, case, network), "over")


def largest_over_mean(table: pl.DataFrame, case: str, network: str) -> Extreme | None:
    """The same, the largest over seeds."""
    return largest(_over_mean(table, case, network), "over")


def _over_mean(table: pl.DataFrame, case: str, network: str) -> pl.DataFrame:
    """A row per `seed` of the standard deviation `over` the mean."""
    own = steady.matching(table, None, None, [case]).filter(network=network)
    sd, mean = (own.filter(statistic=statistic) for statistic in ("sd", "mean"))
    both = sd.join(mean, on="seed", suffix="_mean", maintain_order="left")
    return both.select("seed", over=pl.col("like_us") / pl.col("like_us_mean"))


def departure(table: pl.DataFrame, network: str, case: str, statistic: str) -> Extreme | None:
    """The relative distance of a value from the thesis's, like for like, the largest over seeds."""
    own = steady.matching(table, None, None, [case])
    rows = own.filter(network=network, statistic=statistic)
    return largest(rows.select("seed", off=delays.OFF), "off")


METRICS = (between, least_over_mean, largest_over_mean, departure)
