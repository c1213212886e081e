"""Fig. 3.2: the same with WRED, for two classes of traffic, and GRED."""

from pipelines.flow_startup.red import draw, table

plot = draw

__all__ = ["plot", "table"]
