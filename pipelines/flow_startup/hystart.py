"""Section 2.5: where HyStart's two mechanisms end slow start, with noise and with pacing."""

from collections.abc import Sequence

import plotnine as p9
import polars as pl

from pipelines.flow_startup import transients
from sandglass.papers.verdicts import scalar
from sandglass.results import series, style

TRAIN_ENDS = 0.05
"""From a gap of so many round trips on the next ACK begins another train."""
EARLY = 0.5
"""A slow start that ends below this share of the bandwidth-delay product ends too early."""


def table(runs: Sequence[series.Run]) -> pl.DataFrame:
    """One row per mechanism, noise and way to send, of one flow each.

    `end_bdp` is the window when slow start ended over the bandwidth-delay product; `by_hystart`,
    whether it ended without a reduction; `train_rtts`, how long the train of ACKs was that ended
    with the one that did it. Both by the least round trip that the sender has seen.
    """
    rows = [_row(run) for run in runs]
    return pl.DataFrame(rows).sort("mechanism", "noise", "sender")


def _row(run: series.Run) -> dict[str, object]:
    acks = run.records("acks").sort("time_ns").collect()
    # a row has the state before its ACK: the threshold was set by the ACK before
    after = int(acks["ssthresh_packets"].is_not_null().arg_max() or 0)
    until = acks.head(after)
    rtt_ns = int(until["min_rtt_us"][-1]) * 1000  # HyStart's, too
    bdp = transients.rate_mbit(run) * rtt_ns / 8e3 / transients.PACKET_BYTES
    first = until["time_ns"].diff() > TRAIN_ENDS * rtt_ns
    train = int(until.filter(first)["time_ns"].tail(1).sum()) or int(until["time_ns"][0])
    window = int(until["cwnd_packets"][-1])
    return {
        "mechanism": str(run.axes["mechanism"]),
        "noise": str(run.axes["noise"]),
        "sender": str(run.axes["sender"]),
        "end_bdp": window / bdp,
        "by_hystart": acks["ssthresh_packets"][after] >= window,
        "train_rtts": (int(until["time_ns"][-1]) - train) / rtt_ns,
    }


def plot(table: pl.DataFrame) -> p9.ggplot:
    """Windows at the end of slow start, a panel per mechanism. Dotted: the product and half."""
    drawn: p9.ggplot = (
        p9.ggplot(table, p9.aes("noise", "end_bdp", color="sender", shape="sender"))
        + p9.facet_wrap("mechanism")
        + p9.geom_hline(yintercept=[EARLY, 1], linetype="dotted", color="#666666")
        + p9.geom_point(size=1.8, alpha=0.6)
        + p9.scale_color_manual(style.PALETTE)
        + p9.scale_shape_manual(style.SHAPES)
        + p9.labs(x="", y="Window at the end of slow start (BDP)", color="", shape="")
    )
    return drawn


def _of(table: pl.DataFrame, mechanism: str, noise: str, sender: str) -> pl.DataFrame:
    return table.filter(mechanism=mechanism, noise=noise, sender=sender)


def early_share(table: pl.DataFrame, mechanism: str, noise: str) -> float | None:
    """The share of the unpaced runs that HyStart ends too early, less that without noise."""
    shares = [
        scalar((own["by_hystart"] & (own["end_bdp"] < EARLY)).mean())
        for own in (_of(table, mechanism, name, "unpaced") for name in (noise, "none"))
    ]
    noisy, calm = shares
    return None if noisy is None or calm is None else noisy - calm


METRICS = (early_share,)
