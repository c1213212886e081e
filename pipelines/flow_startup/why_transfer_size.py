"""Why publication I's harm differs: how much each web flow sends, and over which link."""

from collections.abc import Sequence

import plotnine as p9
import polars as pl

from pipelines.flow_startup import pub1, transients
from sandglass.papers import ensemble
from sandglass.papers.verdicts import Extreme, largest, least, scalar
from sandglass.results import series, style


def table(runs: Sequence[series.Run]) -> pl.DataFrame:
    """Publication I's table for each `rate_mbit` of the access link."""
    return transients.of_each_rate(runs, pub1.table)


def plot(table: pl.DataFrame) -> p9.ggplot:
    """The longest delay against what all flows send together, a line per window and number."""
    shown = ensemble.numbered(table).select(
        ensemble.REPLICA,
        "longest_ms",
        sent_kb=pl.col("size_kb") * pl.col("flows"),
        link=pl.format("{} Mb/s", pl.col("rate_mbit").cast(pl.Int64)),
        window=pl.format("initial window {}", "initial_window"),
        number=pl.col("flows").cast(pl.String),
    )
    means = ensemble.means(shown, ["sent_kb", "link", "window", "number"], "longest_ms")
    drawn: p9.ggplot = (
        p9.ggplot(means, p9.aes("sent_kb", "longest_ms", color="number", shape="number"))
        + ensemble.band(means, "number")
        + p9.facet_grid("window", "link")
        + p9.geom_line()
        + p9.geom_point(size=2)
        + p9.scale_x_log10()
        + p9.scale_y_log10()
        + p9.scale_color_manual(style.PALETTE)
        + p9.scale_fill_manual(style.PALETTE)
        + p9.scale_shape_manual(style.SHAPES)
        + p9.labs(
            x="Sent by all flows (kB)",
            y=pub1.MEASURES["longest_ms"],
            color="Web flows",
            fill="Web flows",
            shape="Web flows",
        )
    )
    return drawn


def one_over_as_much(table: pl.DataFrame, column: str, rate: float) -> Extreme | None:
    """A measure over a link in Mb/s with one flow of initial window 10 over that with six of 3
    that send as much together, the least over amounts."""
    link = table.filter(rate_mbit=rate)
    one = link.filter(flows=1, initial_window=10)
    six = link.filter(flows=6, initial_window=3).with_columns(size_kb=pl.col("size_kb") * 6)
    both = one.join(six, on="size_kb", suffix="_six")
    ratio = pl.col(column) / pl.col(f"{column}_six")
    return least(both.select("size_kb", ratio=ratio), "ratio")


def typical_one_over_six(table: pl.DataFrame, column: str) -> float | None:
    """A measure with one flow of initial window 10 over that with six of 3 that send as much each;
    the median over amounts and links."""
    return scalar(_one_over_six(table, column)["ratio"].median())


def largest_one_over_six(table: pl.DataFrame, column: str) -> Extreme | None:
    """The same, the largest."""
    return largest(_one_over_six(table, column), "ratio")


def _one_over_six(table: pl.DataFrame, column: str) -> pl.DataFrame:
    one = table.filter(flows=1, initial_window=10)
    six = table.filter(flows=6, initial_window=3)
    both = one.join(six, on=["size_kb", "rate_mbit"], suffix="_six")
    ratio = pl.col(column) / pl.col(f"{column}_six")
    return both.select("size_kb", "rate_mbit", ratio=ratio)


METRICS = (one_over_as_much, typical_one_over_six, largest_one_over_six)
