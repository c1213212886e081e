"""A figure's table where its points were run several times.

The column `replica` says of which a row is. Replica r of an experiment has the same seed at every
point of a grid.
"""

from collections.abc import Sequence

import polars as pl

from sandglass.errors import SandglassError

REPLICA = "replica"


def together(tables: Sequence[tuple[int, pl.DataFrame]]) -> pl.DataFrame:
    """The tables of replicas, by their numbers, as one.

    Raises SandglassError where one is empty or has other columns than the first: what a metric
    finds in the others would not be of all.
    """
    columns = tables[0][1].columns
    for number, table in tables:
        if table.is_empty():
            raise SandglassError(f"the table of replica {number} is empty, though it has runs")
        if table.columns != columns:
            raise SandglassError(
                f"replica {number} has the columns {', '.join(table.columns)}, "
                f"and replica {tables[0][0]} {', '.join(columns)}"
            )
    marked = [table.with_columns(pl.lit(number).alias(REPLICA)) for number, table in tables]
    return pl.concat(marked, how="vertical_relaxed")


def replicas(table: pl.DataFrame) -> list[pl.DataFrame]:
    """The tables of the replicas, without the column; of a table without it, the table alone."""
    if REPLICA not in table.columns:
        return [table]
    return [own.drop(REPLICA) for _, own in table.group_by(REPLICA, maintain_order=True)]
