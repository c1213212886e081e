"""Why Table I differs: its rows with a slope of the drops that ends 2 BDP above Min_Thresh_Reno."""

import polars as pl

from pipelines.dctcp_internet import table1
from sandglass.papers.verdicts import scalar

table = table1.table
plot = table1.plot


def worst_relative_error(table: pl.DataFrame, quantity: str) -> float | None:
    """|ours / paper - 1|, in percent, the largest of a column; None where one is missing."""
    return _worst(table, quantity, (pl.col("ours") / pl.col("paper") - 1).abs())


def worst_difference(table: pl.DataFrame, quantity: str) -> float | None:
    """|ours - paper|, in percentage points, the largest of a column; None where one is missing."""
    return _worst(table, quantity, (pl.col("ours") - pl.col("paper")).abs())


def _worst(table: pl.DataFrame, quantity: str, distance: pl.Expr) -> float | None:
    column = table.filter(pl.col("quantity") == quantity)
    return (
        None if column["ours"].has_nulls() else scalar(column.select(distance.max() * 100).item())
    )


METRICS = (worst_relative_error, worst_difference)
