"""Why the table of delays differs: what a testbed has between its flows and ours lack."""

from collections.abc import Sequence

import plotnine as p9
import polars as pl

from pipelines.ls_aimd import delays, steady
from sandglass.papers.verdicts import scalar
from sandglass.results import series, style

NETWORK = "network"
"""Axes that vary the network begin so; what follows is the case whose base RTT they are for."""
SHOWN = ("mean", "sd", "p95", "p99", "max")


def table(runs: Sequence[series.Run]) -> pl.DataFrame:
    """The table of delays for each `network`, and `whole_us`, like for like, of the whole run."""
    tables = []
    for run in runs:
        waits = (
            series.forward(run)
            .select(us=pl.col("sojourn_ns").drop_nulls() / 1e3)
            .select(like=(pl.col("us") / steady.TICK_US).floor() * steady.TICK_US)
            .collect()["like"]
        )
        whole = pl.DataFrame(
            list(delays.statistics(waits).items()), schema=["statistic", "whole_us"], orient="row"
        )
        (network,) = (value for axis, value in run.axes.items() if axis.startswith(NETWORK))
        found = delays.table([run]).join(whole, on="statistic", maintain_order="left")
        tables.append(found.with_columns(network=pl.lit(str(network))))
    return pl.concat(tables, how="vertical_relaxed")


def plot(table: pl.DataFrame) -> p9.ggplot:
    """Ours over the thesis's by experiment, a panel per statistic; of replicas each one."""
    sender = pl.col("sender").cast(pl.String).str.strip_prefix("LS-AIMD, ")
    shown = (
        steady.labelled(table)
        .filter(pl.col("statistic").is_in(SHOWN), pl.col("thesis_us") > 0, pl.col("like_us") > 0)
        .with_columns(
            ratio=pl.col("like_us") / pl.col("thesis_us"),
            name=pl.format("{}\n{}\n{}", "case", pl.col("marking").cast(pl.String), sender),
            statistic=pl.col("statistic").cast(pl.Enum(SHOWN)),
        )
    )
    drawn: p9.ggplot = (
        p9.ggplot(shown, p9.aes("name", "ratio", color="network", shape="network"))
        + p9.geom_hline(yintercept=1, linetype="dotted")
        + p9.facet_wrap("statistic", ncol=1)
        + p9.geom_point(size=1.4, position=p9.position_dodge(width=0.6))
        + p9.scale_y_log10()
        + p9.scale_color_manual(style.PALETTE)
        + p9.scale_shape_manual(style.SHAPES)
        + p9.labs(x="", y="Delay over the thesis's", color="", shape="")
    )
    return drawn


def chosen(
    table: pl.DataFrame, network: str, case: str, marking: str, sender: str, statistic: str
) -> pl.DataFrame:
    """The row of a value with one network."""
    rows = steady.matching(
        table.with_columns(pl.col("case").cast(pl.String)), marking, sender, [case]
    )
    return rows.filter(network=network, statistic=statistic)


def departure(
    table: pl.DataFrame, network: str, case: str, marking: str, sender: str, statistic: str
) -> float | None:
    """The relative distance of a value from the thesis's, like for like."""
    rows = chosen(table, network, case, marking, sender, statistic)
    return scalar(rows.select(delays.OFF.max()).item())


def over_stated(
    table: pl.DataFrame, network: str, case: str, marking: str, sender: str, statistic: str
) -> float | None:
    """A value over that with the network as it is stated."""
    changed = chosen(table, network, case, marking, sender, statistic)
    stated = chosen(table, "as stated", case, marking, sender, statistic)
    if changed.is_empty() or stated.is_empty():
        return None
    return scalar(changed["like_us"][0] / stated["like_us"][0])


def whole_departure(
    table: pl.DataFrame, network: str, case: str, marking: str, sender: str, statistic: str
) -> float | None:
    """As `departure`, of the whole run, flows' starts included."""
    rows = chosen(table, network, case, marking, sender, statistic)
    return scalar((rows["whole_us"] / rows["thesis_us"] - 1).abs().max())


METRICS = (departure, over_stated, whole_departure)
