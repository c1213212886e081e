"""Section 2.5: Vegas, which goes by delay, beside Reno, which goes by loss."""

from collections.abc import Sequence

import polars as pl
from plotnine import aes, geom_line, geom_point, ggplot, labs, scale_x_log10, scale_y_log10

from sandglass.results import series


def table(runs: Sequence[series.Run]) -> pl.DataFrame:
    """One row per buffer and seed: goodput of both, Mb/s, and `share`, Vegas' over Reno's."""
    rows = [
        {
            "buffer": float(str(run.axes["buffer"]).removesuffix("bdp")),
            "seed": run.field("seed"),
            "vegas_mbit": run.field("flows.0.goodput_mbit"),
            "reno_mbit": run.field("flows.1.goodput_mbit"),
        }
        for run in runs
    ]
    share = pl.col("vegas_mbit") / pl.col("reno_mbit")
    return pl.DataFrame(rows).with_columns(share=share).sort("buffer", "seed")


def plot(table: pl.DataFrame) -> ggplot:
    """The mean share over the seeds, and each seed's."""
    means = table.group_by("buffer").agg(pl.col("share").mean()).sort("buffer")
    drawn: ggplot = (
        ggplot(table, aes("buffer", "share"))
        + geom_line(data=means)
        + geom_point(size=1.8, alpha=0.6)
        + scale_x_log10()
        + scale_y_log10()
        + labs(x="Buffer (BDP)", y="Vegas' goodput over Reno's")
    )
    return drawn
