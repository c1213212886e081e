"""Section 2.3: the queue before and after the link is full, by how the sender paces."""

import math
from collections.abc import Sequence

import plotnine as p9
import polars as pl

from pipelines.flow_startup import transients
from sandglass.papers.verdicts import scalar
from sandglass.results import series, style

FULL = 1 / (2 * math.log(2))
"""From this share of the bandwidth-delay product on a round trip's packets fill the link: a rate
that doubles within it, and brings so much, is the link's at its end."""
UNPACED_PACKETS = 10
"""How many packets Linux sends before it begins to pace (net/ipv4/tcp_output.c)."""
ENDLESS = "no limit"


def table(runs: Sequence[series.Run]) -> pl.DataFrame:
    """One row per way to send, RTT, buffer and round trip.

    `window` is the number of data packets that came in it, `peak` the longest queue (both packets),
    `bdp` the path's in packets; `sent` how many packets came before it.
    """
    parts = [
        _rounds(run).select(
            pl.lit(str(run.axes["sender"])).alias("sender"),
            pl.lit(run.time_ns("experiment.rtt") / 1e6).alias("rtt_ms"),
            pl.lit(str(run.axes.get("buffer", ENDLESS))).alias("buffer"),
            pl.all(),
        )
        for run in runs
    ]
    return pl.concat(parts).sort("sender", "rtt_ms", "buffer", "round")


def _rounds(run: series.Run) -> pl.DataFrame:
    windows = transients.rounds(run).group_by("round").agg(window=pl.len()).sort("round")
    queue = transients.queue_rounds(transients.queue_changes(run)).select("round", "peak")
    return (
        windows.select("round", "window", sent=pl.col("window").cum_sum() - pl.col("window"))
        .join(queue, on="round", how="left")
        .select(
            "round",
            "window",
            "sent",
            # a packet that meets an idle link leaves no queue
            peak=pl.col("peak").fill_null(0),
            bdp=pl.lit(transients.bdp_packets(run)),
        )
    )


def plot(table: pl.DataFrame) -> p9.ggplot:
    """Longest queue of each round trip against its packets, both in bandwidth-delay products."""
    endless = table.filter((pl.col("buffer") == ENDLESS) & (pl.col("window") <= 2 * pl.col("bdp")))
    shown = endless.with_columns(
        load=pl.col("window") / pl.col("bdp"),
        queue=pl.col("peak") / pl.col("bdp"),
        panel=transients.rtt_label(table),
    ).filter(pl.col("round") <= _full_round())
    drawn: p9.ggplot = (
        p9.ggplot(shown, p9.aes("load", "queue", color="sender", shape="sender", linetype="sender"))
        + p9.geom_hline(yintercept=0.5, linetype="dotted", color="#666666")
        + p9.geom_line()
        + p9.geom_point(size=1.8)
        + p9.facet_grid(cols="panel")
        + p9.scale_color_manual(style.PALETTE)
        + p9.scale_shape_manual(style.SHAPES)
        + p9.scale_linetype_manual([*style.LINES, *style.LINES])
        + p9.labs(
            x="Packets sent in a round trip (BDP)",
            y="Longest queue in it (BDP)",
            color="",
            shape="",
            linetype="",
        )
    )
    return drawn


def _full_round() -> pl.Expr:
    """The first round trip that brings more than the bandwidth-delay product."""
    full = pl.col("round").filter(pl.col("window") > pl.col("bdp")).min()
    return full.over("sender", "rtt_ms", "buffer")


def _probing(table: pl.DataFrame, sender: str) -> pl.DataFrame:
    """Round trips of the endless buffer that come before the link is full."""
    chosen = (pl.col("sender") == sender) & (pl.col("buffer") == ENDLESS)
    early = pl.col("window") < FULL * pl.col("bdp")
    return table.filter(chosen & (pl.col("round") < _full_round()) & early)


def longest_transient(table: pl.DataFrame, sender: str) -> float | None:
    """The longest queue before the link is full and after the packets that Linux does not pace,
    packets; the largest over RTTs."""
    paced = _probing(table, sender).filter(pl.col("sent") >= UNPACED_PACKETS - 1)
    return scalar(paced["peak"].max())


def least_share(table: pl.DataFrame, sender: str) -> float | None:
    """The longest queue of a round trip over its packets, the least over round trips and RTTs."""
    paced = _probing(table, sender).filter(pl.col("sent") >= UNPACED_PACKETS - 1)
    return scalar((paced["peak"] / paced["window"]).min())


def peak_ratio(
    table: pl.DataFrame, sender: str, over: str, buffer: str, most: bool
) -> float | None:
    """The longest queue of one way to send over that of another; the least or largest over RTTs."""
    peaks = (
        table.filter(pl.col("buffer") == buffer)
        .group_by("sender", "rtt_ms")
        .agg(pl.col("peak").max())
    )
    one, other = (peaks.filter(pl.col("sender") == name) for name in (sender, over))
    both = one.join(other, on="rtt_ms", suffix="_over")
    ratios = both["peak"] / both["peak_over"]
    return scalar(ratios.max() if most else ratios.min())


def mean_growth(table: pl.DataFrame, sender: str) -> float | None:
    """The geometric mean of the growth of packets from one round trip to the next, from the second
    on until the link is full, over all RTTs."""
    growth = (
        _probing(table, sender)
        .sort("rtt_ms", "round")
        .select("round", growth=(pl.col("window") / pl.col("window").shift(1)).over("rtt_ms"))
        .filter(pl.col("round") >= 2)
    )
    logarithm = scalar(growth["growth"].log().mean())
    return None if logarithm is None else math.exp(logarithm)


METRICS = (longest_transient, least_share, peak_ratio, mean_growth)
