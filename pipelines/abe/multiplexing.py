"""Abstract: what beta_ecn gains where few flows share the link, and where many do."""

from collections.abc import Sequence

import polars as pl
from plotnine import ggplot

from pipelines.abe import drawing, settings
from sandglass.results import series


def table(runs: Sequence[series.Run]) -> pl.DataFrame:
    """One row per queue, number of flows and beta_ecn: `goodput_mbit` of all flows, and
    `gain_percent`, what it is more than with NewReno's own 0.5."""
    rows = pl.DataFrame([_row(run) for run in runs])
    own = rows.filter(pl.col("beta") == 0.5).select("queue", "flows", own_mbit="goodput_mbit")
    return (
        rows.join(own, on=["queue", "flows"])
        .with_columns(gain_percent=(pl.col("goodput_mbit") / pl.col("own_mbit") - 1) * 100)
        .drop("own_mbit")
        .sort("queue", "flows", "beta")
    )


def _row(run: series.Run) -> dict[str, str | float]:
    flows = run.field("flows")
    received = sum(flow["bytes"] for flow in flows)
    return {
        "queue": settings.queue(run),
        "flows": len(flows),
        "beta": settings.beta_ecn(run),
        "goodput_mbit": received * 8e3 / settings.duration_ns(run),
    }


def plot(table: pl.DataFrame) -> ggplot:
    """Gain against the number of flows, a line per AQM."""
    return drawing.panels(
        table.filter(pl.col("beta") > 0.5),
        {"gain_percent": "Gain of throughput (%)"},
        ("flows", "Flows"),
        ("queue", "AQM"),
    )
