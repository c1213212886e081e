"""Why Figs. 12 and 13 differ: what it means that Jain's index has reached its threshold."""

from collections.abc import Sequence

import plotnine as p9
import polars as pl

from pipelines.abe import convergence, why_convergence, why_noise
from sandglass.results import series, style

READINGS = {"index first": convergence.first, **why_convergence.DEFINITIONS}


def table(runs: Sequence[series.Run]) -> pl.DataFrame:
    """Figs. 12 and 13's tables, `control` CUBIC and NewReno, for each `reading` of the index."""
    return pl.concat(
        convergence.convergence_table(own, default, when).with_columns(
            control=pl.lit(control), reading=pl.lit(reading)
        )
        for control, default, own in why_noise.by_control(runs)
        for reading, when in READINGS.items()
    )


def plot(table: pl.DataFrame) -> p9.ggplot:
    """The share of paths that converge faster than with the default beta_ecn, for each reading, a
    panel per congestion control; of replicas the mean with its interval. Dotted: half of them."""
    shown = why_noise.faster_shares(table, "reading")
    drawn: p9.ggplot = (
        p9.ggplot(shown, p9.aes("reading", "share", color="beta", shape="beta"))
        + p9.facet_wrap("control")
        + p9.geom_hline(yintercept=0.5, linetype="dotted", color="#666666")
        + why_noise.beside(shown)
        + p9.coord_flip()
        + p9.scale_y_continuous(limits=(0, 1))
        + p9.scale_color_manual(style.PALETTE)
        + p9.scale_shape_manual(style.SHAPES)
        + p9.labs(x="", y="Share of paths that are faster", color="beta_ecn", shape="beta_ecn")
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
