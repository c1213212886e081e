"""Table 3.1: the factor by which PIE scales its control law, from the running qdisc."""

from collections.abc import Sequence

import plotnine as p9
import polars as pl

from sandglass.experiment import units
from sandglass.papers.verdicts import scalar
from sandglass.results import series, style

TABLE = [(1e-6, 2048), (1e-5, 512), (1e-4, 128), (1e-3, 32), (1e-2, 8), (1e-1, 2), (1.0, 1)]
"""Stated (Table 3.1): below a probability, the divisor."""


def table(runs: Sequence[series.Run]) -> pl.DataFrame:
    """One row per update of the probability: `prob` before it, and the `divisor` of equation (8).

    The change of the probability, over what equation (6) gives from the delays: alpha times the
    distance to the target, and beta times the change since the update before.
    """
    (run,) = runs
    queue = run.field("experiment.bottleneck.queue")
    target = units.parse_time(queue["target"]) / 1e9
    alpha, beta = queue["alpha"] / 16, queue["beta"] / 16  # tc counts in 1/16
    updates = (
        series.queue_samples(run)
        .select("prob", delay=pl.col("delay_us") / 1e6)
        # between two updates nothing changes
        .filter((pl.col("prob") != pl.col("prob").shift(1)).fill_null(True))
        .with_columns(
            before=pl.col("prob").shift(1),
            law=alpha * (pl.col("delay") - target) + beta * pl.col("delay").diff(),
        )
        .drop_nulls()
    )
    return updates.filter((pl.col("before") > 0) & (pl.col("law") > 0)).select(
        prob="before",
        law="law",
        divisor=pl.col("law") / (pl.col("prob") - pl.col("before")),
        stated=_stated(pl.col("before")),
    )


def _stated(prob: pl.Expr) -> pl.Expr:
    divisor = pl.lit(TABLE[-1][1])
    for below, value in reversed(TABLE[:-1]):
        divisor = pl.when(prob < below).then(pl.lit(value)).otherwise(divisor)
    return divisor


def plot(table: pl.DataFrame) -> p9.ggplot:
    """Divisors against the probability; the line is the thesis's table."""
    line = pl.DataFrame(
        {
            "prob": [1e-7, *[below for below, _ in TABLE[:-1]], 1.0],
            "divisor": [*[float(value) for _, value in TABLE], 1.0],
        }
    )
    drawn: p9.ggplot = (
        p9.ggplot(table, p9.aes("prob", "divisor"))
        + p9.geom_step(data=line, direction="hv", linetype="dotted", color="#666666")
        + p9.geom_point(color=style.PALETTE[0], size=1.5)
        + p9.scale_x_log10()
        + p9.scale_y_log10()
        + p9.labs(x="Probability before the update", y="Law over change (divisor)")
    )
    return drawn


def rows_seen(table: pl.DataFrame) -> float | None:
    """How many of the table's rows have an update."""
    return float(table["stated"].n_unique())


def largest_departure(table: pl.DataFrame) -> float | None:
    """The largest relative distance of a row's median divisor from the table's."""
    medians = table.group_by("stated").agg(pl.col("divisor").median())
    return scalar((medians["divisor"] / medians["stated"] - 1).abs().max())


METRICS = (rows_seen, largest_departure)
