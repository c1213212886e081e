"""Figs. 12 and 13 as a testbed has them: noise, its hosts' senders, and medians over runs."""

from collections.abc import Sequence
from functools import partial
from math import inf

import polars as pl
from plotnine import facet_grid, ggplot, labs, scale_y_continuous

from pipelines.abe import convergence, drawing, why_noise
from sandglass.papers.verdicts import Extreme
from sandglass.results import series

SLOW_START_S = 0.5
"""What crosses the threshold sooner does so while the second flow is in slow start."""
MEASURES = {
    "faster": "faster:\nall paths",
    "faster_after": "without\nslow start",
    "crossing": "runs in\nslow start",
}


def table(runs: Sequence[series.Run]) -> pl.DataFrame:
    """Figs. 12 and 13's tables, `control` CUBIC and NewReno, for each `seed`.

    The runs of a path and beta_ecn differ in their `seed`, from which the noise comes; `ratio` is
    that to the run of the same seed with the default.
    """
    return pl.concat(
        _of_seeds(own, default).with_columns(control=pl.lit(control))
        for control, default, own in why_noise.by_control(runs)
    )


def _of_seeds(runs: Sequence[series.Run], default: int) -> pl.DataFrame:
    return series.along(
        runs, "seed", partial(convergence.convergence_table, default=default)
    ).with_columns(pl.col("seed").cast(pl.Int64))


def medians(table: pl.DataFrame) -> pl.DataFrame:
    """The median over the runs of a path and beta_ecn, a row each: `convergence_s`, `usual_s`, that
    of the default, and their `ratio`.

    A run that never converges counts as infinite, so that the median of two is null where one is.
    """
    path = ["control", "queue", "rate_mbit", "rtt_ms"]
    times = (
        table.group_by(*path, "beta_ecn", "default", maintain_order=True)
        .agg(time_s=pl.col("convergence_s").fill_null(inf).median())
        .with_columns(convergence_s=pl.when(pl.col("time_s") < inf).then("time_s"))
        .drop("time_s")
    )
    usual = times.filter(pl.col("beta_ecn") == pl.col("default"))
    return times.join(
        usual.select(*path, usual_s="convergence_s"), on=path, how="left", maintain_order="left"
    ).with_columns(ratio=pl.col("convergence_s") / pl.col("usual_s"))


def plot(table: pl.DataFrame) -> ggplot:
    """Against beta_ecn, a line per AQM and panels per control: the share of paths that converge
    faster than with the default, that without paths on which either is in slow start, and the
    share of runs that are."""
    keys = ["control", "queue", "beta_ecn"]
    shown = table.group_by(keys, maintain_order=True).agg(
        crossing=(pl.col("convergence_s").fill_null(inf) < SLOW_START_S).mean()
    )
    for name, after_s in (("faster", 0.0), ("faster_after", SLOW_START_S)):
        shares = (
            convergence.changed(_after(medians(table), after_s))
            .group_by(keys)
            .agg((convergence.whole() < 1).mean().alias(name))
        )
        shown = shown.join(shares, on=keys, how="left", maintain_order="left")
    drawn: ggplot = (
        drawing.panels(
            shown,
            MEASURES,
            ("beta_ecn", "beta_ecn"),
            ("queue", "AQM"),
            ["control"],
        )
        + facet_grid("measure", "control")
        + scale_y_continuous(limits=(0, 1), breaks=(0, 0.5, 1))
        + labs(y="Share")
    )
    return drawn


def never(table: pl.DataFrame, control: str) -> float | None:
    """The share of runs that do not converge, in percent."""
    return convergence.never(_runs(table, control))


def tail(table: pl.DataFrame, control: str) -> float | None:
    """The largest ratio over the median one, of single runs."""
    return convergence.tail(_runs(table, control))


def least_ratio(table: pl.DataFrame, control: str, beta: float) -> float | None:
    """The smallest ratio of one beta_ecn, of single runs."""
    return convergence.least_ratio(_runs(table, control), beta)


def slower(table: pl.DataFrame, control: str, beta: float, after_s: float = 0.0) -> float | None:
    """The share of paths whose median time is above the default's; without those on which either
    is below a time."""
    return convergence.slower(_paths(table, control, after_s), beta)


def faster(
    table: pl.DataFrame,
    control: str,
    beta: float,
    queue: str = "",
    after_s: float = 0.0,
) -> float | None:
    """The share of paths whose median time is below the default's; as for slower."""
    return convergence.faster(_paths(table, control, after_s), beta, queue)


def most_faster(table: pl.DataFrame, control: str, after_s: float = 0.0) -> Extreme | None:
    """The largest share of paths faster than the default, over all other beta_ecn."""
    return convergence.most_faster(_paths(table, control, after_s))


def least_faster(table: pl.DataFrame, control: str) -> Extreme | None:
    """The smallest share of paths faster than the default, over all other beta_ecn."""
    return convergence.least_faster(_paths(table, control, 0.0))


def most_harmed(
    table: pl.DataFrame, control: str, by: float, after_s: float = 0.0
) -> Extreme | None:
    """The largest share of paths slower by more than `by`, over the beta_ecn above the default."""
    return convergence.most_harmed(_paths(table, control, after_s), by)


METRICS = (faster, least_faster, least_ratio, most_faster, most_harmed, never, slower, tail)


def _runs(table: pl.DataFrame, control: str) -> pl.DataFrame:
    return table.filter(control=control)


def _paths(table: pl.DataFrame, control: str, after_s: float) -> pl.DataFrame:
    return _after(medians(_runs(table, control)), after_s)


def _after(paths: pl.DataFrame, after_s: float) -> pl.DataFrame:
    """The paths on which neither the beta_ecn nor the default converges before a time."""
    times = pl.col("convergence_s", "usual_s").fill_null(inf)
    return paths.filter(pl.all_horizontal(times >= after_s))
