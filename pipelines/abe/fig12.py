"""Fig. 12: the ratio of convergence time to that with the default beta_ecn, for CUBIC flows."""

from collections.abc import Sequence

import polars as pl

from pipelines.abe.convergence import (
    convergence_table,
    least_faster,
    most_faster,
    most_harmed,
    never,
    plot,
    slower,
)
from sandglass.results import series

DEFAULT = 70  # stated (IV-C): the default beta_ecn of CUBIC, in percent

METRICS = (least_faster, most_faster, most_harmed, never, slower)

__all__ = ["METRICS", "plot", "table"]


def table(runs: Sequence[series.Run]) -> pl.DataFrame:
    """One row per queue, rate, RTT and beta_ecn."""
    return convergence_table(runs, DEFAULT)
