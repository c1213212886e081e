"""Fig. 13: the ratio of convergence time to that with the default beta_ecn, for NewReno flows."""

from collections.abc import Sequence

import polars as pl

from pipelines.abe.convergence import (
    convergence_table,
    faster,
    least_faster,
    most_harmed,
    never,
    plot,
)
from sandglass.results import series

DEFAULT = 50  # stated (IV-C): the default beta_ecn of NewReno, in percent

METRICS = (faster, least_faster, most_harmed, never)

__all__ = ["METRICS", "plot", "table"]


def table(runs: Sequence[series.Run]) -> pl.DataFrame:
    """One row per queue, rate, RTT and beta_ecn."""
    return convergence_table(runs, DEFAULT)
