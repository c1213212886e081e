"""Fig. 10: the distribution of queueing delay of a CUBIC flow, for several beta_ecn."""

from pipelines.abe.sojourn import METRICS, table
from pipelines.abe.sojourn import draw as plot

__all__ = ["METRICS", "plot", "table"]
