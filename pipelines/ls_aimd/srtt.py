"""The senders' SRTT against the lines of least, middle and largest queue."""

from collections.abc import Sequence

import polars as pl
from plotnine import aes, geom_line, ggplot, scale_linetype_manual

from pipelines.ls_aimd import bars, delays, steady
from sandglass.papers.verdicts import scalar
from sandglass.results import series, style

LEVELS = ("minimum", "middle", "maximum")


def table(runs: Sequence[series.Run]) -> pl.DataFrame:
    """One row per run: `srtt_us`, the mean over ACKs of Linux's SRTT, and the lines: the base RTT
    with one, two and three times the target (stated for experiments 4)."""
    rows: list[dict[str, object]] = []
    for run in runs:
        mean = steady.acks(run).select(pl.col("srtt_us").mean()).collect().item()
        base, target = steady.base_rtt_us(run), steady.target_us(run)
        lines = {name: base + (number + 1) * target for number, name in enumerate(LEVELS)}
        rows.append({**steady.case(run), "srtt_us": mean, **lines})
    return steady.ordered(rows)


def plot(table: pl.DataFrame) -> ggplot:
    """SRTT by experiment, and the three lines."""
    lines = steady.labelled(table).unpivot(
        list(LEVELS), index=["case", "marking", "sender"], variable_name="level"
    )
    lines = lines.with_columns(
        pl.col("level").cast(pl.Enum(LEVELS)),
        group=pl.format("{}-{}", "level", pl.col("case").cast(pl.String).str.head(1)),
    )
    plot: ggplot = (
        bars.drawn(table, "srtt_us", "SRTT (us)")
        + geom_line(
            aes("case", "value", linetype="level", group="group"),
            data=lines,
            inherit_aes=False,
            color="#888888",
        )
        + scale_linetype_manual(style.LINES[1:])
    )
    return plot


def agreeing(table: pl.DataFrame, within: float) -> float | None:
    """The share of runs whose SRTT is `within` or less away from the base RTT and the thesis's mean
    wait, relative to these."""
    waits = delays.thesis().filter(statistic="mean")
    both = table.join(waits, on=delays.KEYS)
    base_us = 2 * pl.col("minimum") - pl.col("middle")
    expected = base_us + pl.col("thesis_us")
    off = both.select(off=(pl.col("srtt_us") / expected - 1).abs())["off"]
    return scalar((off <= within).mean())


METRICS = (agreeing,)
