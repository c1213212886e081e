"""Fig. 7: what beta_ecn adds to the bytes that a NewReno flow gets through, over time."""

import polars as pl
from plotnine import ggplot

from pipelines.abe import departures
from pipelines.abe.departures import table

__all__ = ["METRICS", "plot", "table"]


def plot(table: pl.DataFrame) -> ggplot:
    return departures.draw(table, "NewReno")


METRICS = (
    departures.gain,
    departures.later_gain,
    departures.agreeing_horizons,
    departures.most_gain,
    departures.least_gain,
    departures.order,
    departures.early_excess,
    departures.rtt_excess,
)
