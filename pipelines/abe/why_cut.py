"""Why Figs. 12 and 13 differ: senders that cut their windows at once, as FreeBSD's do."""

import polars as pl

from pipelines.abe import convergence
from pipelines.abe.why_noise import faster, never, plot, table

__all__ = ["METRICS", "plot", "table"]


def slower(table: pl.DataFrame, control: str, beta: float, by: float = 0.0) -> float | None:
    """The share of paths whose convergence time is above the default's by more than a share."""
    return convergence.slower(table.filter(control=control), beta, by)


METRICS = (faster, never, slower)
