"""The table of delays with what the thesis's hosts add: longer base RTTs, and noise."""

from collections.abc import Sequence

import plotnine as p9
import polars as pl

from pipelines.ls_aimd import delays, steady
from sandglass.results import series, style

SHOWN = ("mean", "sd", "p95", "p99")
WITHIN = 0.2
"""A quoted number agrees within a fifth."""


def table(runs: Sequence[series.Run]) -> pl.DataFrame:
    """The table of delays for each kind of `noise`."""
    return series.along(runs, "noise", delays.table)


def plot(table: pl.DataFrame) -> p9.ggplot:
    """Ours over the thesis's, by statistic."""
    shown = (
        steady.labelled(table)
        .filter(pl.col("statistic").is_in(SHOWN), pl.col("thesis_us") > 0)
        .with_columns(
            ratio=pl.col("like_us") / pl.col("thesis_us"),
            statistic=pl.col("statistic").cast(pl.Enum(SHOWN)),
            noise=pl.format("noise: {}", "noise"),
        )
    )
    drawn: p9.ggplot = (
        p9.ggplot(shown, p9.aes("case", "ratio", color="noise", shape="sender"))
        + p9.annotate(
            "rect",
            xmin=-float("inf"),
            xmax=float("inf"),
            ymin=1 - WITHIN,
            ymax=1 + WITHIN,
            alpha=0.15,
        )
        + p9.facet_grid("statistic", "marking", scales="free")
        + p9.geom_point(size=1.4, position=p9.position_dodge(width=0.7))
        + p9.scale_color_manual(style.PALETTE)
        + p9.scale_shape_manual(style.SHAPES)
        + p9.labs(x="Experiment", y="Delay over the thesis's", color="", shape="")
        + p9.theme(figure_size=(10, 6))
    )
    return drawn


def departure(
    table: pl.DataFrame, noise: str, marking: str, sender: str, cases: Sequence[str]
) -> float | None:
    """With one kind of noise the largest relative distance of a mean: see `delays.departure`."""
    return delays.departure(table.filter(noise=noise), sender, cases, marking)


def agreeing(
    table: pl.DataFrame,
    noise: str,
    within: float,
    marking: str | None = None,
    statistic: str | None = None,
) -> float | None:
    """With one kind of noise the share of the values that are `within` or less away from the
    thesis's, relative to them: see `delays.agreeing`."""
    return delays.agreeing(table.filter(noise=noise), within, marking, statistic)


METRICS = (departure, agreeing)
