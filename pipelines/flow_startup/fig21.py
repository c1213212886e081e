"""Fig. 2.1: the first packets of a flow with an initial window of three and of ten."""

from collections.abc import Sequence

import polars as pl
from plotnine import aes, geom_point, ggplot, labs, scale_color_manual, scale_shape_manual

from pipelines.flow_startup import transients
from sandglass.papers.verdicts import scalar
from sandglass.results import series, style

SHOWN_MS = 450


def table(runs: Sequence[series.Run]) -> pl.DataFrame:
    """One row per initial window and data packet of the first SHOWN_MS: `time_ms` since the first
    one, `round` (0: within the first RTT), `number` of the packet from 1 on."""
    return pl.concat(
        [
            transients.rounds(run)
            .filter(pl.col("time_ms") < SHOWN_MS)
            .select(
                pl.lit(run.field("experiment.hosts.s1.initcwnd")).alias("initial_window"),
                "time_ms",
                "round",
                number=pl.int_range(1, pl.len() + 1),
            )
            for run in runs
        ]
    ).sort("initial_window", "number")


def plot(table: pl.DataFrame) -> ggplot:
    """Packets against time."""
    shown = table.with_columns(window=pl.col("initial_window").cast(pl.String))
    drawn: ggplot = (
        ggplot(shown, aes("time_ms", "number", color="window", shape="window"))
        + geom_point(size=1.5)
        + scale_color_manual(style.PALETTE)
        + scale_shape_manual(style.SHAPES)
        + labs(
            x="Time since the first packet (ms)",
            y="Packet",
            color="Initial window",
            shape="Initial window",
        )
    )
    return drawn


def sent_in_round(table: pl.DataFrame, initial_window: int, round: int) -> float | None:  # noqa: A002
    """Packets in one of the first round trips."""
    chosen = table.filter(initial_window=initial_window, round=round)
    return float(len(chosen)) if len(chosen) else None


def time_until(table: pl.DataFrame, initial_window: int, number: int) -> float | None:
    """When a packet is sent, ms after the first."""
    return scalar(table.filter(initial_window=initial_window, number=number)["time_ms"].max())


def rtts_saved(table: pl.DataFrame, number: int, rtt_ms: float) -> float | None:
    """How many RTTs sooner a packet is sent with an initial window of ten than with three."""
    three, ten = (time_until(table, window, number) for window in (3, 10))
    return None if three is None or ten is None else (three - ten) / rtt_ms


METRICS = (sent_in_round, rtts_saved)
