"""Why PIE's tail does not grow with its burst allowance: what makes it."""

from collections.abc import Sequence

import polars as pl
from plotnine import ggplot

from pipelines.abe import delays, drawing, settings
from sandglass.results import series

MEASURES = {
    "tail_ms": "99th percentile less the median (ms)",
    "early_share": "Share of the longest 1 % before 10 s",
}


def table(runs: Sequence[series.Run]) -> pl.DataFrame:
    """One row per beta and PIE's `gains`, times its own.

    `tail_ms` is the 99th percentile of the queueing delay less the median, over all packets;
    `early_share`, how many of the packets that waited for longer than that percentile came before
    slow start and its overshoot were over (`delays.AFTER_NS`).
    """
    return pl.DataFrame([_row(run) for run in runs]).sort("beta", "gains")


def _row(run: series.Run) -> dict[str, float]:
    delay = pl.col("sojourn_ns")
    longest = delay.quantile(0.99, "nearest")
    found = (
        series.forward(run)
        .filter(delay.is_not_null())
        .select(
            tail_ms=(longest - delay.quantile(0.5, "nearest")) / 1e6,
            early_share=(pl.col("enqueue_ns") < delays.AFTER_NS).filter(delay > longest).mean(),
        )
        .collect()
    )
    return {
        "beta": settings.beta_ecn(run),
        "gains": float(run.axes["gains"]),
        **found.row(0, named=True),
    }


def plot(table: pl.DataFrame) -> ggplot:
    """Both against the gains, a line per beta_ecn."""
    return drawing.panels(table, MEASURES, ("gains", "PIE's gains (times)"), ("beta", "beta_ecn"))
