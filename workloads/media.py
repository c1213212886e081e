"""A media flow: audio over UDP, packets of one size at a steady interval, as RTP carries them.

All hosts read one clock, so that one-way delays are exact: what the network does to the flow
(delay, its variation, losses), and what a jitter buffer can play of it, is computed from the
datagrams.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sandglass.agent import dscp
from sandglass.agent.declare import DURATION, RATE, Column, Option
from workloads import udp

if TYPE_CHECKING:
    from collections.abc import Iterator
    from fractions import Fraction

    import polars as pl

    from sandglass.agent.plan import Flow, Options, Result
    from sandglass.agent.testbed import Testbed

IPV6 = True
RTP_HEADER = 12  # bytes, without contributing sources: RFC 3550, section 5.1
BYTE_NS = 8 * 10**9  # a byte at 1 bit/s
OPTIONS = {
    "rate": Option(RATE, "Bit rate of the audio, without headers.", "16kbit", ("16kbit",)),
    "interval": Option(
        DURATION, "Time between two packets, and so what a packet holds.", "20ms", ("20ms",)
    ),
    "playout_delay": Option(
        DURATION,
        "A packet is played so long after it was sent; one that comes later is lost to the "
        "listener. Up to 150 ms a conversation is hardly disturbed (ITU-T G.114).",
        "150ms",
        ("150ms",),
    ),
    "dscp": dscp.OPTION,
}
COLUMNS = udp.COLUMNS
LEAVES = udp.LEAVES
TABLES = {
    "media": {
        "sequence": Column("UInt32", "", "number of the packet, from 0"),
        "sent_ns": Column("Int64", "ns", "when it was to be sent; it is, within 2 us"),
        "received_ns": Column(
            "Int64",
            "ns",
            "when it reached the receiver's network card; null: lost, that is not there 2 s after "
            "the flow's end",
        ),
        "delay_ns": Column("Int64", "ns", "one-way delay; null: lost"),
        "ipdv_ns": Column(
            "Int64",
            "ns",
            "delay variation (RFC 3393): its delay less that of the packet sent before it; null "
            "where one of them was lost, and of the first",
        ),
        "loss_period": Column(
            "UInt32",
            "",
            "number, from 1, of the loss period (RFC 3357) that it is in: losses in a row; "
            "0: not lost",
        ),
        "late": Column("Boolean", "", "whether `delay_ns` is above `playout_delay`; null: lost"),
    }
}


def packet_size(options: Options) -> int:
    """UDP payload of a packet, in bytes: audio and the header of RTP."""
    held: int = options["rate"] * options["interval"] // BYTE_NS
    return held + RTP_HEADER


def problems(options: Options, lasts_ns: int) -> Iterator[tuple[str, str]]:
    """Whole bytes in each packet, and a code point that there is."""
    yield from dscp.problems(options)
    from sandglass.experiment import units

    rate, interval = options["rate"], options["interval"]
    if rate * interval % BYTE_NS or not 16 <= packet_size(options) <= udp.LARGEST:
        yield (
            "interval",
            f"{units.format_time(interval)} at {units.format_rate(rate)} are "
            f"{rate * interval / BYTE_NS:g} bytes of audio: choose rate and interval for a whole "
            f"number from {16 - RTP_HEADER} to {udp.LARGEST - RTP_HEADER}",
        )


def packets(options: Options, time_ns: int) -> int:
    """How many it sends in so long a time, but for the last."""
    sent: int = time_ns // options["interval"]
    return sent


def run(flow: Flow, testbed: Testbed) -> Result:
    """Run one flow; returns the result of udp.stream()."""
    interval: int = flow["options"]["interval"]
    return udp.stream(flow, testbed, packet_size(flow["options"]), 1, lambda sent: sent * interval)


def delay_variation(delay_ns: pl.Series) -> pl.Series:
    """Inter-packet delay variation of each packet against the one sent before it, in ns.

    RFC 3393, with adjacent packets selected; null where one of the two was lost.
    """
    return delay_ns.diff()


def loss_periods(lost: pl.Series) -> pl.Series:
    """The number, from 1, of the loss period that each lost packet is in; 0: not lost.

    RFC 3357: a period begins with a loss that follows a packet that was received.
    """
    import polars as pl

    begins = lost & ~lost.shift(1, fill_value=False)
    return begins.cum_sum().cast(pl.UInt32) * lost.cast(pl.UInt32)


def least_playout_delay(delay_ns: pl.Series, unplayed: Fraction) -> int | None:
    """The least time from sending to playing, in ns, with at most this share of packets unplayed.

    A packet that comes later than it is to be played, or never, is not played. None: more than
    that share were lost.
    """
    delays = delay_ns.drop_nulls().sort()
    played = len(delay_ns) - int(unplayed * len(delay_ns))
    return int(delays[played - 1]) if 0 < played <= len(delays) else None


def played(datagrams: pl.DataFrame, playout_delay_ns: int) -> pl.DataFrame:
    """Each packet of one flow with what became of it, for a jitter buffer with a fixed delay."""
    import polars as pl

    delay = datagrams["received_ns"] - datagrams["due_ns"]
    return pl.DataFrame(
        {
            "sequence": datagrams["sequence"].cast(pl.UInt32),
            "sent_ns": datagrams["due_ns"],
            "received_ns": datagrams["received_ns"],
            "delay_ns": delay,
            "ipdv_ns": delay_variation(delay),
            "loss_period": loss_periods(delay.is_null()),
            "late": delay > playout_delay_ns,
        }
    )


def summary(table: pl.DataFrame, playout_delay_ns: int) -> dict[str, Any]:
    """A flow's numbers, from its packets; shares are of the packets sent."""
    from fractions import Fraction

    import polars as pl

    from sandglass.records.summary import quantiles_ms

    unplayed = Fraction(1, 100)  # what an adapted jitter buffer may fail to play
    lost = table["delay_ns"].null_count()
    late = int(table["late"].sum())
    lengths = table.filter(pl.col("loss_period") > 0).group_by("loss_period").len()["len"]
    needed = least_playout_delay(table["delay_ns"], unplayed)
    return {
        "delay_ms": quantiles_ms(table["delay_ns"].drop_nulls().to_numpy()),
        "ipdv_ms": quantiles_ms(table["ipdv_ns"].drop_nulls().abs().to_numpy()),
        "lost_share": lost / len(table),
        "loss_periods": len(lengths),
        "longest_loss_period": max(lengths, default=0),
        "playout_delay_ms": playout_delay_ns / 1e6,
        "late_share": late / len(table),
        "unplayed_share": (lost + late) / len(table),
        "needed_playout_delay_ms": None if needed is None else needed / 1e6,
    }


def evaluate(flow: Flow, datagrams: pl.DataFrame) -> tuple[pl.DataFrame, dict[str, Any]]:
    """The media table of one flow, and its numbers for run.json."""
    import polars as pl

    playout_delay = flow["options"]["playout_delay"]
    datagrams = datagrams.cast(pl.Int64)  # the times of arrival are text where there are none
    table = played(datagrams, playout_delay)
    return table, {"media": summary(table, playout_delay)}
