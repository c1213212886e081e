"""The table of delays with hosts that wake up late and cards that hand packets up together."""

from collections.abc import Sequence

import polars as pl
from plotnine import (
    aes,
    facet_wrap,
    geom_point,
    ggplot,
    labs,
    position_dodge,
    scale_color_manual,
    scale_shape_manual,
)

from pipelines.ls_aimd import delays, steady
from sandglass.results import series, style

SHOWN = ("sd", "p99")


def table(runs: Sequence[series.Run]) -> pl.DataFrame:
    """The table of delays for each kind of `noise`."""
    return series.along(runs, "noise", delays.table)


def plot(table: pl.DataFrame) -> ggplot:
    """Ours and the thesis's by experiment, a panel per statistic."""
    thesis = table.filter(pl.col("noise") == table["noise"][0]).with_columns(
        like_us="thesis_us", noise=pl.lit("thesis")
    )
    sender = pl.col("sender").cast(pl.String).str.strip_prefix("LS-AIMD, ")
    shown = (
        steady.labelled(pl.concat([table, thesis]))
        .filter(pl.col("statistic").is_in(SHOWN))
        .with_columns(
            name=pl.format("{}\n{}\n{}", "case", pl.col("marking"), sender),
            statistic=pl.col("statistic").cast(pl.Enum(SHOWN)),
        )
    )
    drawn: ggplot = (
        ggplot(shown, aes("name", "like_us", color="noise", shape="noise"))
        + facet_wrap("statistic", ncol=1, scales="free_y")
        + geom_point(size=2, position=position_dodge(width=0.5))
        + scale_color_manual(style.PALETTE)
        + scale_shape_manual(style.SHAPES)
        + labs(x="Experiment", y="Queueing delay (us)", color="", shape="")
    )
    return drawn


def agreeing(table: pl.DataFrame, noise: str, statistic: str, within: float) -> float | None:
    """With one kind of noise the share of a statistic's values that are `within` or less away from
    the thesis's, relative to them: see `delays.agreeing`."""
    chosen = table.filter(pl.col("noise") == noise)
    return delays.agreeing(chosen, within, statistic=statistic)


METRICS = (agreeing,)
