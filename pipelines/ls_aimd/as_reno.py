"""LS-AIMD whose increase is a segment, beside Linux's Reno: the fraction changes nothing else."""

from collections.abc import Sequence

import polars as pl
from plotnine import aes, geom_point, ggplot, labs

from pipelines.ls_aimd import steady
from sandglass.papers.verdicts import scalar
from sandglass.results import series


def table(runs: Sequence[series.Run]) -> pl.DataFrame:
    """One row per `sender`, of the second half: `window`, the mean congestion window in segments,
    and `delay_us`, the mean queueing delay."""
    rows: list[dict[str, object]] = []
    for run in runs:
        acks = steady.acks(run).filter(pl.col("flow") > 0)
        waits = steady.packets(run).select(pl.col("sojourn_ns").mean()).collect().item()
        rows.append(
            {
                "sender": str(run.axes["sender"]),
                "window": acks.select(pl.col("cwnd_packets").mean()).collect().item(),
                "delay_us": waits / 1e3,
            }
        )
    return pl.DataFrame(rows).sort("sender")


def plot(table: pl.DataFrame) -> ggplot:
    """Windows by sender."""
    drawn: ggplot = (
        ggplot(table, aes("sender", "window"))
        + geom_point(size=2)
        + labs(x="", y="Mean congestion window (segments)")
    )
    return drawn


def apart(table: pl.DataFrame, one: str, other: str) -> float | None:
    """How much larger a sender's mean window is than another's, in segments."""
    windows = [scalar(table.filter(sender=name)["window"].max()) for name in (one, other)]
    return None if windows[0] is None or windows[1] is None else windows[0] - windows[1]


METRICS = (apart,)
