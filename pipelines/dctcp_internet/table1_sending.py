"""Table I where thresholds count the packet that the link is sending, too."""

from collections.abc import Sequence

import polars as pl

from pipelines.dctcp_internet import table1
from sandglass.papers.verdicts import scalar
from sandglass.results import series

plot = table1.plot


def table(runs: Sequence[series.Run]) -> pl.DataFrame:
    """As `table1.table`, of thresholds that are lower by that packet, and queues with it: there is
    one for as much of the time as the link is busy."""
    rows = table1.table(runs, sending=table1.TRANSMISSION)
    sent = rows.filter(pl.col("quantity").str.starts_with("U_")).select(
        "row",
        pl.col("quantity").str.replace("U_", "O_"),
        sent=table1.TRANSMISSION * pl.col("ours"),
    )
    return (
        rows.join(sent, on=["row", "quantity"], how="left", maintain_order="left")
        .with_columns(pl.col("ours") + pl.col("sent").fill_null(0))
        .drop("sent")
    )


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
