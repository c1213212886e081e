"""The senders' SRTT against the lines of least, middle and largest queue."""

from collections.abc import Sequence

import polars as pl
from plotnine import aes, geom_line, ggplot, scale_linetype_manual

from pipelines.ls_aimd import bars, steady
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


def most(
    table: pl.DataFrame, marking: str, sender: str, cases: Sequence[str], line: str
) -> float | None:
    """The largest SRTT over a line."""
    rows = steady.matching(table, marking, sender, cases)
    return scalar((rows["srtt_us"] / rows[line]).max())


def fewest(
    table: pl.DataFrame, marking: str, sender: str, cases: Sequence[str], line: str
) -> float | None:
    """The smallest SRTT over a line."""
    rows = steady.matching(table, marking, sender, cases)
    return scalar((rows["srtt_us"] / rows[line]).min())


METRICS = (most, fewest)
