"""Why the ramp's delays differ: segments that wait from the ACK on, or from the segment before."""

import plotnine as p9
import polars as pl

from pipelines.ls_aimd import delays, steady, why_held
from sandglass.papers.verdicts import Extreme, largest
from sandglass.results import style

SHOWN = ("mean", "sd", "p95", "p99")

table = why_held.table


def plot(table: pl.DataFrame) -> p9.ggplot:
    """Ours with each network and the thesis's by experiment, a row of panels per statistic."""
    shown = (
        delays.beside_thesis(table, "network")
        .filter(pl.col("statistic").is_in(SHOWN))
        .with_columns(
            case=pl.col("case").cast(pl.String),
            statistic=pl.col("statistic").cast(pl.Enum(SHOWN)),
        )
    )
    drawn: p9.ggplot = (
        p9.ggplot(shown, p9.aes("case", "us", color="network", shape="network"))
        + p9.facet_grid("statistic", "marking", scales="free_y")
        + p9.geom_point(size=1.8, position=p9.position_dodge(width=0.5))
        + p9.scale_y_continuous(expand=(0.1, 0))
        + p9.scale_color_manual(style.PALETTE)
        + p9.scale_shape_manual(style.SHAPES)
        + p9.labs(x="Experiment", y="Queueing delay (us)", color="", shape="")
    )
    return drawn


def departure(table: pl.DataFrame, network: str, marking: str, statistic: str) -> Extreme | None:
    """The relative distance of a value from the thesis's, like for like, the largest over
    experiments."""
    rows = steady.matching(table, marking, None, None).filter(network=network, statistic=statistic)
    return largest(rows.select("case", off=delays.OFF).drop_nulls(), "off")


METRICS = (departure,)
