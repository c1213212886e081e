"""Fig. 9: what beta_ecn adds to the bytes that a CUBIC flow gets through, over time."""

import polars as pl
from plotnine import ggplot

from pipelines.abe import departures
from pipelines.abe.departures import table

__all__ = ["METRICS", "plot", "table"]


def plot(table: pl.DataFrame) -> ggplot:
    return departures.draw(table, "CUBIC")


METRICS = (
    departures.gain,
    departures.least_gain,
    departures.most_gain_of,
    departures.early_gain,
    departures.early_gain_over,
)
