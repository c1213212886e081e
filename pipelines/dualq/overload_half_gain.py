"""Overload of 2021-09: the same through DualPI2 of half the gain."""

from pipelines.dualq.overload import METRICS, plot, table

__all__ = ["METRICS", "plot", "table"]
