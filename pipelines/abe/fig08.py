"""Fig. 8: the distribution of queueing delay of a NewReno flow, for several beta_ecn."""

from pipelines.abe.sojourn import added, off_target, table, tail_order
from pipelines.abe.sojourn import draw as plot

METRICS = (added, off_target, tail_order)

__all__ = ["METRICS", "plot", "table"]
