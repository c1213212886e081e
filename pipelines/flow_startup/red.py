"""Figs. 3.1 and 3.2: probabilities of RED and its variants, from the running qdisc."""

from collections.abc import Sequence

import plotnine as p9
import polars as pl

from sandglass.results import series, style


def table(runs: Sequence[series.Run]) -> pl.DataFrame:
    """One row per variant and sample of the queue: the qdisc's `avg` and initial `prob`, and what
    equation (2), with the variant's second slope, makes of that average: `exact`.

    Of samples within a quarter of a packet the first is kept.
    """
    samples = pl.concat([_samples(run) for run in runs])
    return (
        samples.with_columns(near=(pl.col("avg") * 4).floor())
        .unique(["variant", "near"], keep="first", maintain_order=True)
        .drop("near")
        .sort("variant", "avg")
    )


def _samples(run: series.Run) -> pl.DataFrame:
    queue = run.field("experiment.bottleneck.queue")
    low, high, most = queue["min"], queue["max"], queue["probability"]
    slope = most * (pl.col("avg") - low) / (high - low)
    beyond = most + (1 - most) * (pl.col("avg") - high) / high if queue.get("gentle") else 1.0
    exact = (
        pl.when(pl.col("avg") < low)
        .then(0.0)
        .when(pl.col("avg") < high)
        .then(slope)
        .otherwise(beyond)
        .clip(0, 1)
    )
    return (
        series.queue_samples(run)
        .select(pl.lit(str(run.axes.get("variant", "RED"))).alias("variant"), "avg", "prob")
        .with_columns(exact=exact)
    )


def plot(table: pl.DataFrame) -> p9.ggplot:
    """Probability against average queue, a panel per variant; the line is the equation."""
    drawn: p9.ggplot = (
        p9.ggplot(table, p9.aes("avg"))
        + p9.facet_wrap("variant")
        + p9.geom_line(p9.aes(y="exact"), color="#666666", linetype="dotted")
        + p9.geom_point(p9.aes(y="prob"), color=style.PALETTE[0], size=0.6)
        + p9.labs(x="Average queue (packets)", y="Initial drop probability")
    )
    return drawn
