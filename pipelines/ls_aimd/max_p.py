"""Instantaneous marking's delays against max_p, which the slides do not state."""

from collections.abc import Sequence

import plotnine as p9
import polars as pl

from pipelines.ls_aimd import delays, steady
from sandglass.papers.verdicts import scalar
from sandglass.results import series, style

SHOWN = ("mean", "sd", "p95", "p99")


def table(runs: Sequence[series.Run]) -> pl.DataFrame:
    """The table of delays for each `max_p`."""
    return series.along(runs, "max_p", delays.table).with_columns(pl.col("max_p").cast(pl.Float64))


def plot(table: pl.DataFrame) -> p9.ggplot:
    """Ours over the thesis's, by experiment and statistic."""
    shown = (
        steady.labelled(table)
        .filter(pl.col("statistic").is_in(SHOWN), pl.col("like_us") > 0)
        .with_columns(
            ratio=pl.col("like_us") / pl.col("thesis_us"),
            statistic=pl.col("statistic").cast(pl.Enum(SHOWN)),
        )
    )
    drawn: p9.ggplot = (
        p9.ggplot(shown, p9.aes("max_p", "ratio", color="sender", shape="sender"))
        + p9.geom_hline(yintercept=1, linetype="dotted")
        + p9.facet_grid("case", "statistic")
        + p9.geom_line()
        + p9.geom_point(size=2)
        + p9.scale_x_log10()
        + p9.scale_y_log10()
        + p9.scale_color_manual(style.PALETTE)
        + p9.scale_shape_manual(style.SHAPES)
        + p9.labs(x="max_p", y="Delay over the thesis's", color="", shape="")
    )
    return drawn


def nearest(table: pl.DataFrame, case: str, sender: str, statistic: str) -> float | None:
    """The least relative distance of a value from the thesis's, over max_p."""
    rows = steady.matching(table, None, sender, [case]).filter(pl.col("statistic") == statistic)
    return scalar(rows.select(delays.OFF.min()).item())


def departure(
    table: pl.DataFrame, max_p: float, case: str, sender: str, statistic: str
) -> float | None:
    """The relative distance of a value from the thesis's with one max_p."""
    rows = steady.matching(table, None, sender, [case])
    rows = rows.filter(pl.col("max_p") == max_p, pl.col("statistic") == statistic)
    return scalar(rows.select(delays.OFF.max()).item())


METRICS = (nearest, departure)
