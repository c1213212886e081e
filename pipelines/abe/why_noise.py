"""Why Figs. 12 and 13 differ: what a testbed adds to the times of packets."""

import dataclasses
from collections.abc import Sequence

import polars as pl
from plotnine import (
    aes,
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

from pipelines.abe import convergence, fig12, fig13
from sandglass.papers import ensemble
from sandglass.results import series, style

CONTROLS = {
    "beta_ecn": ("CUBIC", fig12.DEFAULT),
    "newreno_beta": ("NewReno", fig13.DEFAULT),
}
"""Whose beta an axis sets, and its default in percent."""


def table(runs: Sequence[series.Run]) -> pl.DataFrame:
    """Figs. 12 and 13's tables, `control` CUBIC and NewReno."""
    tables = []
    for axis, (control, default) in CONTROLS.items():
        own = [named(run, axis) for run in runs if axis in run.axes]
        if own:
            found = convergence.convergence_table(own, default)
            tables.append(found.with_columns(control=pl.lit(control)))
    return pl.concat(tables)


def named(run: series.Run, axis: str) -> series.Run:
    """The run with its beta on the axis that Figs. 12 and 13 have it on."""
    return dataclasses.replace(run, axes={**run.axes, "beta_ecn": run.axes[axis]})


def plot(table: pl.DataFrame) -> ggplot:
    """The share of paths that converge faster than with the default beta_ecn, a panel per
    congestion control; of replicas the mean with its interval. Dotted: half of them."""
    numbered = ensemble.numbered(table)
    keys = [ensemble.REPLICA, "control", "queue", "beta_ecn"]
    shares = pl.DataFrame(
        [
            (*names, convergence.faster(rows, names[-1]))
            for names, rows in _changed(numbered).group_by(keys, maintain_order=True)
        ],
        schema=[*keys, "share"],
        orient="row",
    ).with_columns(beta=pl.col("beta_ecn").cast(pl.String))
    shown = ensemble.means(shares, ["control", "queue", "beta"], "share")
    beside = position_dodge(width=0.4)
    drawn: ggplot = (
        ggplot(shown, aes("beta", "share", color="queue", shape="queue"))
        + facet_wrap("control", scales="free_x")
        + geom_hline(yintercept=0.5, linetype="dotted", color="#666666")
        + (
            geom_point(size=3, position=beside)
            if shown["low"].has_nulls()
            else geom_pointrange(aes(ymin="low", ymax="high"), position=beside)
        )
        + scale_y_continuous(limits=(0, 1))
        + scale_color_manual(style.PALETTE)
        + scale_shape_manual(style.SHAPES)
        + labs(x="beta_ecn", y="Share of paths that are faster", color="AQM", shape="AQM")
    )
    return drawn


def never(table: pl.DataFrame, control: str) -> float | None:
    """The share of experiments that do not converge, in percent."""
    return convergence.never(_of(table, control))


def slower(table: pl.DataFrame, control: str, beta: float) -> float | None:
    """The share of paths whose convergence time is above the default's."""
    return convergence.slower(_of(table, control), beta)


def faster(table: pl.DataFrame, control: str, beta: float, queue: str = "") -> float | None:
    """The share of paths that converge faster than with the default."""
    return convergence.faster(_of(table, control), beta, queue)


METRICS = (faster, never, slower)


def _of(table: pl.DataFrame, control: str) -> pl.DataFrame:
    return table.filter(pl.col("control") == control)


def _changed(table: pl.DataFrame) -> pl.DataFrame:
    return table.filter((pl.col("beta_ecn") - pl.col("default")).abs() > 1e-9)
