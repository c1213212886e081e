"""Fig. 1: the window of a single flow against time, with Reno and three senders of DCTCP."""

from collections.abc import Sequence

import polars as pl
from plotnine import aes, facet_wrap, geom_step, ggplot, labs, scale_color_manual

from sandglass.papers.verdicts import scalar
from sandglass.results import series, style

SETTLED_NS = 20 * 10**9
SHOWN_S = 12


def table(runs: Sequence[series.Run]) -> pl.DataFrame:
    """One row per sender, seed and change of its window: `time_s`, `cwnd_packets`, and whether
    slow start is over."""
    return pl.concat([_windows(run) for run in runs])


def _windows(run: series.Run) -> pl.DataFrame:
    acks = run.records("acks").collect().sort("time_ns")
    slow = pl.col("ssthresh_packets").is_null()
    return (
        acks.with_columns(slow_start=slow.cast(pl.Int8).cum_min().cast(pl.Boolean))
        .filter(pl.col("cwnd_packets").diff().ne(0).fill_null(True))
        .select(
            sender=pl.lit(run.axes["sender"]),
            seed=pl.lit(run.field("seed"), pl.Int64),
            time_s=pl.col("time_ns") / 1e9,
            cwnd_packets="cwnd_packets",
            slow_start="slow_start",
        )
    )


def plot(table: pl.DataFrame) -> ggplot:
    """The first seconds of the first seed, a panel per sender."""
    shown = table.filter(
        (pl.col("seed") == pl.col("seed").min()) & (pl.col("time_s") < SHOWN_S)
    ).with_columns(pl.col("sender").cast(pl.Enum(table["sender"].unique(maintain_order=True))))
    drawn: ggplot = (
        ggplot(shown, aes("time_s", "cwnd_packets", color="sender"))
        + facet_wrap("sender", scales="free_y")
        + geom_step(show_legend=False)
        + scale_color_manual(style.PALETTE)
        + labs(x="Time (s)", y="cwnd (packets)")
    )
    return drawn


def settling_s(table: pl.DataFrame, sender: str, than: str) -> float | None:
    """How much longer another sender takes from the end of slow start to its steady mean, in s,
    mean over the seeds."""
    one, other = (_settling(table, name) for name in (sender, than))
    return None if one is None or other is None else other - one


def mean_ratio(table: pl.DataFrame, sender: str, than: str) -> float | None:
    """The mean window from 20 s on over that of another sender, mean over the seeds."""
    one, other = (scalar(means(table, name)["mean"].mean()) for name in (sender, than))
    return one / other if one is not None and other else None


METRICS = (settling_s, mean_ratio)


def means(table: pl.DataFrame, sender: str) -> pl.DataFrame:
    """`mean` by seed, weighted by time."""
    held = (pl.col("time_s").shift(-1) - pl.col("time_s")).over("seed")
    return (
        table.filter(pl.col("sender") == sender)
        .with_columns(held=held)
        .filter(pl.col("time_s") >= SETTLED_NS / 1e9)
        .group_by("seed")
        .agg(mean=(pl.col("cwnd_packets") * pl.col("held")).sum() / pl.col("held").sum())
    )


def _settling(table: pl.DataFrame, sender: str) -> float | None:
    """From the first window after slow start to the first at or below the steady mean, in s."""
    after = table.filter((pl.col("sender") == sender) & ~pl.col("slow_start"))
    reached = (
        after.join(means(table, sender), on="seed")
        .group_by("seed")
        .agg(
            took=pl.col("time_s").filter(pl.col("cwnd_packets") <= pl.col("mean")).min()
            - pl.col("time_s").min()
        )
    )
    return scalar(reached["took"].mean())
