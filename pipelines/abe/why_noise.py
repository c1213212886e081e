"""Why Figs. 12 and 13 differ: what a testbed adds to the times of packets."""

import dataclasses
from collections.abc import Iterator, Sequence

import plotnine as p9
import polars as pl

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
    return pl.concat(
        convergence.convergence_table(own, default).with_columns(control=pl.lit(control))
        for control, default, own in by_control(runs)
    )


def by_control(runs: Sequence[series.Run]) -> Iterator[tuple[str, int, list[series.Run]]]:
    """Each congestion control that has runs, its default in percent, and them, their beta on the
    axis that Figs. 12 and 13 have it on."""
    for axis, (control, default) in CONTROLS.items():
        own = [
            dataclasses.replace(run, axes={**run.axes, "beta_ecn": run.axes[axis]})
            for run in runs
            if axis in run.axes
        ]
        if own:
            yield control, default, own


def plot(table: pl.DataFrame) -> p9.ggplot:
    """The share of paths that converge faster than with the default beta_ecn, a panel per
    congestion control; of replicas the mean with its interval. Dotted: half of them."""
    shown = faster_shares(table, "queue")
    drawn: p9.ggplot = (
        p9.ggplot(shown, p9.aes("beta", "share", color="queue", shape="queue"))
        + p9.facet_wrap("control", scales="free_x")
        + p9.geom_hline(yintercept=0.5, linetype="dotted", color="#666666")
        + beside(shown)
        + p9.scale_y_continuous(limits=(0, 1))
        + p9.scale_color_manual(style.PALETTE)
        + p9.scale_shape_manual(style.SHAPES)
        + p9.labs(x="beta_ecn", y="Share of paths that are faster", color="AQM", shape="AQM")
    )
    return drawn


def faster_shares(table: pl.DataFrame, by: str) -> pl.DataFrame:
    """The `share` of paths that converge faster than with the default, of replicas the mean with
    its interval; a row per control, value of the column `by`, and `beta`, a text."""
    keys = [ensemble.REPLICA, "control", by, "beta_ecn"]
    numbered = convergence.changed(ensemble.numbered(table))
    shares = pl.DataFrame(
        [
            (*names, convergence.faster(rows, names[-1]))
            for names, rows in numbered.group_by(keys, maintain_order=True)
        ],
        schema=[*keys, "share"],
        orient="row",
    ).with_columns(beta=pl.col("beta_ecn").cast(pl.String))
    return ensemble.means(shares, ["control", by, "beta"], "share")


def beside(shown: pl.DataFrame) -> p9.geom_point | p9.geom_pointrange:
    """Shares beside each other, with their intervals where there are any."""
    place = p9.position_dodge(width=0.4)
    if shown["low"].has_nulls():
        return p9.geom_point(size=3, position=place)
    return p9.geom_pointrange(p9.aes(ymin="low", ymax="high"), position=place)


def slower(table: pl.DataFrame, control: str, beta: float) -> float | None:
    """The share of paths whose convergence time is above the default's."""
    return convergence.slower(_of(table, control), beta)


def faster(table: pl.DataFrame, control: str, beta: float, queue: str = "") -> float | None:
    """The share of paths that converge faster than with the default."""
    return convergence.faster(_of(table, control), beta, queue)


METRICS = (faster, slower)


def _of(table: pl.DataFrame, control: str) -> pl.DataFrame:
    return table.filter(pl.col("control") == control)
