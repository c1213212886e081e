"""G and L of tcpeval's impact on standard TCP: what the new camp gains, and what the other loses.

Both are goodput beside each other over the same camp's goodput where both are standard, replica by
replica: the same seed, hence the same load.
"""

import polars as pl
from incumbents import with_reference
from plotnine import aes, facet_grid, geom_hline, geom_point, geom_vline, ggplot, labs


def plots(runs: pl.DataFrame, summary: pl.DataFrame) -> dict[str, ggplot]:
    """L against G."""
    rows = gains(runs)
    drawn = (
        ggplot(rows, aes("gain", "loss", colour="cc"))
        + geom_hline(yintercept=1, linetype="dotted")
        + geom_vline(xintercept=1, linetype="dotted")
        + geom_point()
        + facet_grid("standard", "load")
        + labs(
            title="What the new camp gains, and what the standard one keeps",
            x="G: goodput of the new camp, over that of its place when standard",
            y="L: the same of the standard camp",
            colour="",
            caption="A dot for each replica; both are 1 where nothing changes. Rows: the standard.",
        )
    )
    return {"gain": drawn} if rows.height else {}


def gains(runs: pl.DataFrame) -> pl.DataFrame:
    """A row for each run that has a reference, with `gain` and `loss`."""
    rows = with_reference(runs, "standard", ["load"], ["own", "theirs"])
    return rows.with_columns(
        gain=pl.col("own") / pl.col("own_ref"), loss=pl.col("theirs") / pl.col("theirs_ref")
    )
