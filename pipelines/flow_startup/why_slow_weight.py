"""Why a quarter of HRED's weight is not slow: slower weights, at which the buffer fills."""

from pipelines.flow_startup.red_speed import plot, slow_over_fast, table

METRICS = (slow_over_fast,)

__all__ = ["METRICS", "plot", "table"]
