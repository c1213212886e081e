"""Why six flows of three segments delay as long as one of ten: they carry six times as much."""

from collections.abc import Sequence

import polars as pl
from plotnine import ggplot

from pipelines.flow_startup import one_or_six, pub1
from sandglass.results import series


def table(runs: Sequence[series.Run]) -> pl.DataFrame:
    """One row per `all_kb`, what the flows send together, with the ratios of `one_or_six`."""
    measured = pub1.table(runs).with_columns(all_kb=pl.col("size_kb") * pl.col("flows"))
    return one_or_six.compared(measured, "all_kb")


def plot(table: pl.DataFrame) -> ggplot:
    """Both ratios against what is sent in all."""
    return one_or_six.drawn(table, "all_kb", "All flows together (kB)")
