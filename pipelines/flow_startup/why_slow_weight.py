"""Why a quarter of HRED's weight is not slow: slower weights, at which the buffer fills."""

from pipelines.flow_startup.red_speed import plot, table

__all__ = ["plot", "table"]
