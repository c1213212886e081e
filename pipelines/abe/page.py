"""Slides: what beta_ecn does to the load time of a large web page."""

from collections.abc import Sequence

import polars as pl
from plotnine import ggplot

from pipelines.abe import completion, drawing, settings
from sandglass.papers import ensemble
from sandglass.results import series


def table(runs: Sequence[series.Run]) -> pl.DataFrame:
    """One row per replica, queue, kind of page and beta_ecn: `plt_s`, the mean load time over the
    seeds of a block, and `gain_percent`, by how much it is below that with 0.5."""
    rows = pl.concat([_blocks(run) for run in runs])
    keys = ["queue", "page", ensemble.REPLICA]
    usual = rows.filter(pl.col("beta") == 0.5).select(*keys, usual_s="plt_s")
    return (
        rows.join(usual, on=keys)
        .with_columns(gain_percent=(1 - pl.col("plt_s") / pl.col("usual_s")) * 100)
        .drop("usual_s")
        .sort("queue", "page", "beta", ensemble.REPLICA)
    )


def _blocks(run: series.Run) -> pl.DataFrame:
    return completion.block_means(run, "plt_s").select(
        queue=pl.lit(settings.queue(run)),
        page=pl.lit(str(run.axes["page"])),
        beta=pl.lit(settings.beta_ecn(run)),
        plt_s="plt_s",
        **{ensemble.REPLICA: pl.col(ensemble.REPLICA)},
    )


def plot(table: pl.DataFrame) -> ggplot:
    """Reduction of the load time against beta_ecn, a line per kind of page, a panel per AQM."""
    return drawing.panels(
        table.filter(pl.col("beta") > 0.5),
        {"gain_percent": "Reduction of page load time (%)"},
        ("beta", "beta_ecn"),
        ("page", "page"),
        apart=["queue"],
    )
