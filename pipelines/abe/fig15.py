"""Fig. 15: throughput of CUBIC flows with ECN over that of NewReno flows without, through PIE."""

import polars as pl
from plotnine import ggplot

from pipelines.abe.friendliness import (
    difference,
    distance_below,
    drawn,
    table,
    trend,
)

METRICS = (difference, distance_below, trend)

__all__ = ["METRICS", "plot", "table"]


def plot(table: pl.DataFrame) -> ggplot:
    """Ratio against beta_ecn, a line per RTT."""
    return drawn(table, "PIE")
