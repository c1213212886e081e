"""A figure's table where its points were run several times: the replicas of it, and their mean.

The column `replica` says of which a row is. Replica r has the same seed at every point of a grid.
"""

from collections.abc import Callable, Sequence

import numpy as np
import polars as pl
import polars.selectors as cs

from sandglass.errors import SandglassError
from sandglass.studies import statistics

REPLICA = "replica"
MEASURES = ("mean", "low", "high")


def replicas(table: pl.DataFrame) -> list[pl.DataFrame]:
    """The tables of the replicas, without the column; of a table without it, the table alone."""
    if REPLICA not in table.columns:
        return [table]
    return [own.drop(REPLICA) for _, own in table.group_by(REPLICA, maintain_order=True)]


def mean(tables: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """The mean of tables with the same rows, row by row; what is no number is the first one's.

    A value that one of them does not have is of those that have it. Raises SandglassError where
    they have not the same number of rows.
    """
    heights = {table.height for table in tables}
    if len(heights) > 1:
        raise SandglassError(
            f"the replicas' tables have from {min(heights)} to {max(heights)} rows: "
            "there is no mean of them"
        )
    numbers = tables[0].select(cs.numeric()).columns
    means = [
        pl.mean_horizontal([pl.lit(table[name].cast(pl.Float64)) for table in tables]).alias(name)
        for name in numbers
    ]
    return tables[0].with_columns(means)


def pseudo_values(
    metric: Callable[[pl.DataFrame], float], tables: Sequence[pl.DataFrame]
) -> list[float]:
    """What each replica adds to a metric of their mean: the jackknife's pseudo-values.

    Their mean and its interval are those of the metric (Tukey 1958; Efron 1982, chapter 2). Of a
    metric that is linear in the table they are the metric of each replica.
    """
    n = len(tables)
    if n == 1:
        return [metric(tables[0])]
    whole = metric(mean(tables))
    without = [metric(mean([*tables[:i], *tables[i + 1 :]])) for i in range(n)]
    return [n * whole - (n - 1) * each for each in without]


def band(table: pl.DataFrame, by: Sequence[str], value: str) -> pl.DataFrame:
    """A row per point of `by`: n, mean, low and high of the replicas' `value`, as floats.

    Of one replica low and high are its value, so that a band of it is a line.
    """
    rows = []
    for place, own in statistics.points(table, by):
        found = statistics.interval(np.asarray(own[value].drop_nulls(), np.float64))
        ends = {"low": found.low, "high": found.high}
        ends = {name: found.mean if end is None else end for name, end in ends.items()}
        rows.append({**place, "n": own.height, "mean": found.mean, **ends})
    types = {name: table.schema[name] for name in by}
    return pl.DataFrame(rows, schema_overrides=types, infer_schema_length=None)
