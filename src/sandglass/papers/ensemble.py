"""A figure's table where its points were run several times.

The column `replica` says of which a row is. Replica r of an experiment has the same seed at every
point of a grid. Where some points were run more often than others, the column `partial` is true of
the replicas that have these points alone.
"""

from collections.abc import Collection, Mapping, Sequence

import polars as pl
from plotnine import aes, geom_ribbon

from sandglass.errors import SandglassError
from sandglass.studies import statistics

REPLICA = "replica"
PARTIAL = "partial"


def together(
    tables: Sequence[tuple[int, pl.DataFrame]], parts: Collection[int] = ()
) -> pl.DataFrame:
    """The tables of replicas, by their numbers, as one; `parts` are those without some points.

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
    whole = pl.concat(marked, how="vertical_relaxed")
    return whole.with_columns(pl.col(REPLICA).is_in(list(parts)).alias(PARTIAL)) if parts else whole


def replicas(table: pl.DataFrame, *, parts: bool = False) -> list[pl.DataFrame]:
    """The tables of the replicas that have all points, or of the others, without the columns that
    tell them apart; of a table without them, the table alone. Where all are equal, the first: it
    is one run, that often."""
    if PARTIAL in table.columns:
        table = table.filter(pl.col(PARTIAL) == parts).drop(PARTIAL)
    elif parts:
        return []
    if REPLICA not in table.columns:
        return [table]
    found = [own.drop(REPLICA) for _, own in table.group_by(REPLICA, maintain_order=True)]
    return found[:1] if all(own.equals(found[0]) for own in found) else found


def numbered(table: pl.DataFrame) -> pl.DataFrame:
    """The table with the column `replica`: 1 in one that has none."""
    return table if REPLICA in table.columns else table.with_columns(pl.lit(1).alias(REPLICA))


def measures(table: pl.DataFrame, names: Mapping[str, str], case: Sequence[str]) -> pl.DataFrame:
    """A row per replica, case and measure: `replica`, the columns of a case, `measure` and `value`.

    `names` are the measures' columns and what each is called; that is also their order (pl.Enum).
    """
    return (
        numbered(table)
        .unpivot(list(names), index=[REPLICA, *case], variable_name="measure")
        .with_columns(
            pl.col("measure").replace_strict(names, return_dtype=pl.Enum(list(names.values())))
        )
    )


def means(table: pl.DataFrame, point: Sequence[str], value: str) -> pl.DataFrame:
    """Per point, in order: a value's mean over replicas, and the ends of its 95 % interval.

    Point are the columns that tell the points of a figure apart. `low` and `high` are null where
    there is one replica.
    """
    ends = pl.Struct({"mean": pl.Float64, "low": pl.Float64, "high": pl.Float64})
    return (
        table.group_by(point, maintain_order=True)
        .agg(pl.col(value).drop_nulls())
        .filter(pl.col(value).list.len() > 0)
        .with_columns(
            pl.col(value).map_elements(
                lambda own: statistics.interval(own)._asdict(), return_dtype=ends
            )
        )
        .with_columns(pl.col(value).struct.unnest())
        .drop(value)
        .rename({"mean": value})
    )


def measure_means(
    table: pl.DataFrame, names: Mapping[str, str], case: Sequence[str]
) -> pl.DataFrame:
    """The `means` of `measures`: a row per case and measure."""
    return means(measures(table, names, case), [*case, "measure"], "value")


def band(means: pl.DataFrame, fill: str) -> geom_ribbon | None:
    """The 95 % intervals of `means` around a figure's lines; nothing where there are none."""
    whole = means.drop_nulls(["low", "high"])
    if whole.is_empty():
        return None
    return geom_ribbon(aes(ymin="low", ymax="high", fill=fill), whole, alpha=0.2, color="none")
