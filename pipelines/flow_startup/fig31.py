"""Fig. 3.1: RED's initial drop probability against the average queue."""

from pipelines.flow_startup.red import draw, table

plot = draw

__all__ = ["plot", "table"]
