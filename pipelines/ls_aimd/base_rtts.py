"""The delays of experiment 4A with flows whose base RTTs differ."""

from collections.abc import Sequence

import plotnine as p9
import polars as pl

from pipelines.ls_aimd import delays
from sandglass.papers.verdicts import scalar
from sandglass.results import series, style

SHOWN = ("mean", "sd", "p95", "p99")


def table(runs: Sequence[series.Run]) -> pl.DataFrame:
    """The table of delays for each choice of base `rtts`."""
    return series.along(runs, "rtts", delays.table)


def plot(table: pl.DataFrame) -> p9.ggplot:
    """Ours and the thesis's, by statistic."""
    thesis = table.filter(pl.col("rtts") == table["rtts"][0]).with_columns(
        like_us="thesis_us", rtts=pl.lit("thesis")
    )
    shown = (
        pl.concat([table, thesis])
        .filter(pl.col("statistic").is_in(SHOWN))
        .with_columns(pl.col("statistic").cast(pl.Enum(SHOWN)))
    )
    drawn: p9.ggplot = (
        p9.ggplot(shown, p9.aes("statistic", "like_us", color="rtts", shape="rtts"))
        + p9.geom_point(size=2, position=p9.position_dodge(width=0.5))
        + p9.scale_color_manual(style.PALETTE)
        + p9.scale_shape_manual(style.SHAPES)
        + p9.labs(x="", y="Queueing delay (us)", color="Base RTTs", shape="Base RTTs")
    )
    return drawn


def departure(table: pl.DataFrame, rtts: str, statistic: str) -> float | None:
    """The relative distance of a statistic from the thesis's, with these base RTTs."""
    rows = table.filter(pl.col("rtts") == rtts, pl.col("statistic") == statistic)
    return scalar(rows.select(delays.OFF.max()).item())


METRICS = (departure,)
