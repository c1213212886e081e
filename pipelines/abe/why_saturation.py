"""Why Fig. 18 differs at 400 ms: the flow, the path and PIE's own times, one changed at a time."""

from collections.abc import Sequence

import polars as pl
from plotnine import ggplot

from pipelines.abe import drawing, fig18
from sandglass.papers.verdicts import Extreme
from sandglass.results import series


def table(runs: Sequence[series.Run]) -> pl.DataFrame:
    """Fig. 18's table through PIE for each way in which it is `varied`."""
    return series.along(runs, "varied", fig18.table)


def plot(table: pl.DataFrame) -> ggplot:
    """Gain against beta_ecn, a line for each way; bars are 95 % intervals."""
    measure = {"gain_percent": "Reduction of FCT (%)"}
    return drawing.panels(table, measure, ("beta_ecn", "beta_ecn"), ("varied", ""), ["queue"])


def saturation(table: pl.DataFrame, varied: str, beta: float) -> Extreme | None:
    """The gain at `beta` over the largest gain."""
    return fig18.saturation(table.filter(pl.col("varied") == varied), "PIE", beta)


METRICS = (saturation,)
