"""G and L of tcpeval's impact on standard TCP: what the new camp gains, and what the other loses.

Both are goodput beside each other over the same camp's goodput where both are standard, replica by
replica: the same seed, hence the same load.
"""

import polars as pl
from incumbents import with_reference
from plotnine import (
    aes,
    facet_grid,
    geom_hline,
    geom_point,
    geom_vline,
    ggplot,
    labs,
    scale_color_manual,
)

from sandglass.results import style


def plots(runs: pl.DataFrame, summary: pl.DataFrame) -> dict[str, ggplot]:
    """L against G."""
    rows = gains(runs)
    kinds = rows["cc"].unique(maintain_order=True)
    drawn = (
        ggplot(rows, aes("gain", "loss", colour="cc"))
        + geom_hline(yintercept=1, linetype="dotted")
        + geom_vline(xintercept=1, linetype="dotted")
        + geom_point()
        + facet_grid("standard", "load")
        + scale_color_manual(dict(zip(kinds, style.PALETTE, strict=False)), breaks=list(kinds))
        + labs(
            subtitle="Goodput over that of the same camp when both are standard, by pairs; a dot "
            "for each replica",
            x="G of the new camp (columns: the load)",
            y="L of the standard one (rows: which)",
            colour="",
        )
    )
    return {"gain": drawn} if rows.height else {}


def gains(runs: pl.DataFrame) -> pl.DataFrame:
    """A row for each run that has a reference, with `gain` and `loss`."""
    rows = with_reference(runs, "standard", ["load"], ["own", "theirs"])
    return rows.with_columns(
        gain=pl.col("own") / pl.col("own_ref"), loss=pl.col("theirs") / pl.col("theirs_ref")
    )
