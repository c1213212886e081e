"""Why not every flow has timeouts: flows that nothing brings out of step with the queue."""

from collections.abc import Sequence

import plotnine as p9
import polars as pl

from pipelines.ls_aimd import eviction
from sandglass.results import series, style


def table(runs: Sequence[series.Run]) -> pl.DataFrame:
    """One row per `case` and `phase` of `eviction.table`'s: `least_timeouts`."""
    found = series.along(runs, "phase", eviction.table)
    return found.select("case", "phase", "least_timeouts").sort("case", "phase")


def plot(table: pl.DataFrame) -> p9.ggplot:
    """Fewest timeouts by experiment; of replicas each one."""
    drawn: p9.ggplot = (
        p9.ggplot(table, p9.aes("case", "least_timeouts", color="phase", shape="phase"))
        + p9.geom_point(size=2, position=p9.position_dodge(width=0.4))
        + p9.scale_color_manual(style.PALETTE)
        + p9.scale_shape_manual(style.SHAPES)
        + p9.labs(x="Experiment", y="Fewest timeouts of a flow (1/s)", color="Waits", shape="Waits")
    )
    return drawn
