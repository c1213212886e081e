"""Fig. 3.2, ARED: the drop probability against the average queue, with max_p least and most."""

import math
from collections.abc import Sequence

import polars as pl
from plotnine import aes, facet_wrap, geom_line, geom_point, ggplot, labs

from pipelines.flow_startup import ared
from sandglass.results import series, style

STATES = {"least": "max_p least", "most": "max_p most"}
BIN = 5
"""Packets of the average queue that a point of the figure is over."""
FEWEST = 200
"""Drops of which a probability is told."""


def table(runs: Sequence[series.Run]) -> pl.DataFrame:
    """One row per `state` of max_p and five packets of the average queue: over the `drops` there,
    whose averages' mean is `average`, the mean of the initial drop probability that equation (2)
    makes of average and max_p, `exact`, and the one that the packets from drop to drop tell,
    `found`.

    Of drops that had max_p at its least or most, and the average between the thresholds, since the
    drop before.
    """
    return pl.concat([_binned(run) for run in runs]).sort("state", "average")


def _binned(run: series.Run) -> pl.DataFrame:
    drops = _drops(run)
    state = (
        pl.when(pl.col("max_p") < ared.LEAST)
        .then(pl.lit(STATES["least"]))
        .when(pl.col("max_p") > ared.MOST)
        .then(pl.lit(STATES["most"]))
    )
    return (
        drops.with_columns(state=state)
        .drop_nulls("state")
        .group_by("state", near=pl.col("average") // BIN)
        .agg(
            pl.col("average", "exact", "gap").mean(),
            drops=pl.len(),
        )
        .filter(pl.col("drops") >= FEWEST)
        .with_columns(found=pl.col("gap").map_elements(probability, return_dtype=pl.Float64))
        .select("state", "average", "exact", "found", "drops")
    )


def _drops(run: series.Run) -> pl.DataFrame:
    """Of each drop the `average`, `max_p` and, by equation (2), `exact` probability at its packet,
    and the packets since the drop before, with its own: the `gap`."""
    told = ared.asked(run)
    packets = ared.averages(run, told["weight"][0]).join_asof(told, on="at_ns")
    low, high = pl.col("low"), pl.col("high")
    between = pl.col("average").is_between(low, high, closed="left")
    return (
        packets.with_columns(
            number=pl.col("dropped").cum_sum().shift(fill_value=0),
            exact=pl.col("max_p") * (pl.col("average") - low) / (high - low),
        )
        .group_by("number", maintain_order=True)
        .agg(
            pl.col("average", "max_p", "exact", "dropped").last(),
            gap=pl.len(),
            same=(pl.col("max_p").n_unique() == 1) & between.all(),
        )
        .filter("same", "dropped", pl.col("number") > 0)
    )


def probability(gap: float) -> float:
    """The initial probability with which the mean number of packets from drop to drop is `gap`.

    By equation (3) no drop has come after k packets with probability 1 - k p, while that is not
    negative; their sum is the mean.
    """
    whole = math.floor(2 * gap - 1)  # packets after which one may not have come yet
    return 2 * (whole + 1 - gap) / (whole * (whole + 1)) if whole else 1.0


def plot(table: pl.DataFrame) -> ggplot:
    """Probability against average queue, a panel per state; the line is equation (2)."""
    drawn: ggplot = (
        ggplot(table, aes("average"))
        + facet_wrap("state", scales="free_y")
        + geom_line(aes(y="exact"), color="#666666", linetype="dotted")
        + geom_point(aes(y="found"), color=style.PALETTE[0], size=1.8)
        + labs(x="Average queue (packets)", y="Initial drop probability")
    )
    return drawn
