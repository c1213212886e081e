"""Why the ramp's delays differ: segments that wait from the ACK on, or from the segment before."""

import polars as pl

from pipelines.ls_aimd import steady, why_held
from sandglass.papers.verdicts import Extreme, largest

table = why_held.table
plot = why_held.plot


def departure(table: pl.DataFrame, network: str, marking: str, statistic: str) -> Extreme | None:
    """The relative distance of a value from the thesis's, like for like, the largest over
    experiments."""
    rows = steady.matching(table, marking, None, None).filter(network=network, statistic=statistic)
    off = (pl.col("like_us") / pl.col("thesis_us") - 1).abs()
    return largest(rows.select("case", off=off).drop_nulls(), "off")


METRICS = (departure,)
