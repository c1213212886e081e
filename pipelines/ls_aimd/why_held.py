"""Why the least and the largest delays differ: hosts and a queue that are held up once."""

from collections.abc import Sequence

import plotnine as p9
import polars as pl

from pipelines.ls_aimd import delays, why_apart
from sandglass.papers.verdicts import scalar
from sandglass.results import series, style

KEYS = ("case", "marking")


def table(runs: Sequence[series.Run]) -> pl.DataFrame:
    """The table of delays for each `network`."""
    return series.along(runs, "network", delays.table)


def plot(table: pl.DataFrame) -> p9.ggplot:
    """Each statistic's values by experiment, ours with each network and the thesis's."""
    sender = pl.col("sender").cast(pl.String).str.strip_prefix("LS-AIMD, ")
    shown = delays.beside_thesis(table, "network").with_columns(
        name=pl.format("{} {}\n{}", *(pl.col(key).cast(pl.String) for key in KEYS), sender),
        statistic=pl.col("statistic").cast(pl.Enum(delays.STATISTICS)),
    )
    drawn: p9.ggplot = (
        p9.ggplot(shown, p9.aes("name", "us", color="network", shape="network"))
        + p9.facet_wrap("statistic", ncol=2, scales="free_y")
        + p9.geom_point(size=1.6, position=p9.position_dodge(width=0.5))
        + p9.scale_color_manual(style.PALETTE)
        + p9.scale_shape_manual(style.SHAPES)
        + p9.labs(x="", y="Queueing delay (us)", color="", shape="")
    )
    return drawn


def value(
    table: pl.DataFrame, network: str, case: str, marking: str, sender: str, statistic: str
) -> float | None:
    """A value, us."""
    rows = why_apart.chosen(table, network, case, marking, sender, statistic)
    return scalar(rows["like_us"].max())


METRICS = (why_apart.departure, why_apart.over_stated, value)
