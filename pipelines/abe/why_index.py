"""Why Figs. 12 and 13 differ: what it means that Jain's index has reached its threshold."""

from collections.abc import Sequence

import polars as pl
from plotnine import (
    aes,
    coord_flip,
    facet_wrap,
    geom_hline,
    geom_point,
    geom_pointrange,
    ggplot,
    labs,
    position_dodge,
    scale_color_manual,
    scale_shape_manual,
    scale_y_continuous,
)

from pipelines.abe import convergence, why_convergence, why_noise
from sandglass.papers import ensemble
from sandglass.results import series, style

READINGS = {"index first": convergence.first, **why_convergence.DEFINITIONS}


def table(runs: Sequence[series.Run]) -> pl.DataFrame:
    """Figs. 12 and 13's tables, `control` CUBIC and NewReno, for each `reading` of the index."""
    tables = []
    for axis, (control, default) in why_noise.CONTROLS.items():
        own = [why_noise.named(run, axis) for run in runs if axis in run.axes]
        for reading, when in READINGS.items() if own else ():
            found = convergence.convergence_table(own, default, when)
            tables.append(
                found.with_columns(control=pl.lit(control), reading=pl.lit(reading)).drop("digest")
            )
    return pl.concat(tables)


def plot(table: pl.DataFrame) -> ggplot:
    """The share of paths that converge faster than with the default beta_ecn, for each reading, a
    panel per congestion control; of replicas the mean with its interval. Dotted: half of them."""
    other = ensemble.numbered(table).filter((pl.col("beta_ecn") - pl.col("default")).abs() > 1e-9)
    keys = [ensemble.REPLICA, "control", "reading", "beta_ecn"]
    shares = pl.DataFrame(
        [
            (*names, convergence.faster(rows, names[-1]))
            for names, rows in other.group_by(keys, maintain_order=True)
        ],
        schema=[*keys, "share"],
        orient="row",
    ).with_columns(beta=pl.col("beta_ecn").cast(pl.String))
    shown = ensemble.means(shares, ["control", "reading", "beta"], "share")
    beside = position_dodge(width=0.4)
    drawn: ggplot = (
        ggplot(shown, aes("reading", "share", color="beta", shape="beta"))
        + facet_wrap("control")
        + geom_hline(yintercept=0.5, linetype="dotted", color="#666666")
        + (
            geom_point(size=3, position=beside)
            if shown["low"].has_nulls()
            else geom_pointrange(aes(ymin="low", ymax="high"), position=beside)
        )
        + coord_flip()
        + scale_y_continuous(limits=(0, 1))
        + scale_color_manual(style.PALETTE)
        + scale_shape_manual(style.SHAPES)
        + labs(x="", y="Share of paths that are faster", color="beta_ecn", shape="beta_ecn")
    )
    return drawn


def slower(
    table: pl.DataFrame, control: str, reading: str, beta: float, by: float = 0.0
) -> float | None:
    """The share of paths whose convergence time is above the default's by more than a share."""
    return convergence.slower(_of(table, control, reading), beta, by)


def faster(
    table: pl.DataFrame, control: str, reading: str, beta: float, queue: str = ""
) -> float | None:
    """The share of paths that converge faster than with the default."""
    return convergence.faster(_of(table, control, reading), beta, queue)


METRICS = (slower, faster)


def _of(table: pl.DataFrame, control: str, reading: str) -> pl.DataFrame:
    return table.filter(control=control, reading=reading)
