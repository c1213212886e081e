"""What the network does to a media flow: delay, its variation, losses, and what can be played.

All hosts of a lab read one clock, so that one-way delays are exact.
"""

from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import polars as pl

from sandglass.run.summary import quantiles_ms

UNPLAYED = Fraction(1, 100)
"""The share of packets that an adapted jitter buffer may fail to play."""


def delay_variation(delay_ns: pl.Series) -> pl.Series:
    """Inter-packet delay variation of each packet against the one sent before it, in ns.

    RFC 3393, with adjacent packets selected; null where one of the two was lost.
    """
    return delay_ns.diff()


def loss_periods(lost: pl.Series) -> pl.Series:
    """The number, from 1, of the loss period that each lost packet is in; 0: not lost.

    RFC 3357: a period begins with a loss that follows a packet that was received.
    """
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


def packets(datagrams: pl.DataFrame, playout_delay_ns: int) -> pl.DataFrame:
    """Each packet of one flow with what became of it, for a jitter buffer with a fixed delay."""
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
    lost = table["delay_ns"].null_count()
    late = int(table["late"].sum())
    lengths = table.filter(pl.col("loss_period") > 0).group_by("loss_period").len()["len"]
    needed = least_playout_delay(table["delay_ns"], UNPLAYED)
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


def evaluate(plan: Mapping[str, Any], directory: Path) -> dict[int, dict[str, Any]]:
    """Make media.parquet of what the media flows left; returns their numbers by flow."""
    tables, numbers = [], {}
    for flow in plan["flows"]:
        if flow["workload"] != "media":
            continue
        left = directory / f"datagrams-{flow['id']}.csv"
        playout_delay = flow["options"]["playout_delay"]
        table = packets(
            pl.read_csv(left, schema_overrides={"received_ns": pl.Int64}), playout_delay
        )
        left.unlink()
        numbers[flow["id"]] = summary(table, playout_delay)
        tables.append(table.select(pl.lit(flow["id"], pl.UInt16).alias("flow"), pl.all()))
    if tables:
        pl.concat(tables).write_parquet(directory / "media.parquet")
    return numbers
