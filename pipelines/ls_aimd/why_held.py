"""Why the least and the largest delays differ: hosts and a queue that are held up once."""

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

from pipelines.ls_aimd import delays, steady, why_apart
from sandglass.papers.verdicts import scalar
from sandglass.results import series, style

KEYS = ("case", "marking")


def table(runs: Sequence[series.Run]) -> pl.DataFrame:
    """The table of delays for each `network`."""
    return series.along(runs, "network", delays.table)


def plot(table: pl.DataFrame) -> ggplot:
    """Each statistic's values by experiment, ours with each network and the thesis's."""
    keys = [*delays.KEYS, "statistic"]
    ours = table.select(*keys, "network", us="like_us")
    thesis = table.select(*keys, network=pl.lit("thesis"), us="thesis_us").unique(
        maintain_order=True
    )
    sender = pl.col("sender").cast(pl.String).str.strip_prefix("LS-AIMD, ")
    shown = (
        steady.labelled(pl.concat([ours, thesis]))
        .drop_nulls("us")
        .with_columns(
            name=pl.format("{} {}\n{}", *(pl.col(key).cast(pl.String) for key in KEYS), sender),
            statistic=pl.col("statistic").cast(pl.Enum(delays.STATISTICS)),
        )
    )
    drawn: ggplot = (
        ggplot(shown, aes("name", "us", color="network", shape="network"))
        + facet_wrap("statistic", ncol=2, scales="free_y")
        + geom_point(size=1.6, position=position_dodge(width=0.5))
        + scale_color_manual(style.PALETTE)
        + scale_shape_manual(style.SHAPES)
        + labs(x="", y="Queueing delay (us)", color="", shape="")
    )
    return drawn


def value(
    table: pl.DataFrame, network: str, case: str, marking: str, sender: str, statistic: str
) -> float | None:
    """A value, us."""
    cases = table.with_columns(pl.col("case").cast(pl.String))
    rows = steady.matching(cases, marking, sender, [case])
    return scalar(rows.filter(network=network, statistic=statistic)["like_us"].max())


METRICS = (why_apart.departure, why_apart.over_stated, value)
