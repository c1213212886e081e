"""The AQM's marking rate."""

from collections.abc import Sequence

import polars as pl
from plotnine import ggplot

from pipelines.ls_aimd import bars, steady
from sandglass.results import series

CE = 3


def table(runs: Sequence[series.Run]) -> pl.DataFrame:
    """One row per run: `marked`, the share of marked packets among those with ECN; `dropped`."""
    rows: list[dict[str, object]] = []
    for run in runs:
        capable, marked, dropped = (
            steady.packets(run)
            .select(
                (pl.col("ecn_in") > 0).sum().alias("capable"),
                (pl.col("ecn_out") == CE).sum().alias("marked"),
                pl.col("drop").is_not_null().sum().alias("dropped"),
            )
            .collect()
            .row(0)
        )
        rows.append({**steady.case(run), "marked": marked / capable, "dropped": dropped})
    return steady.ordered(rows)


def plot(table: pl.DataFrame) -> ggplot:
    """Share of marked packets by experiment."""
    return bars.drawn(table, "marked", "Share of marked packets")
