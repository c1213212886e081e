"""What queues tell of themselves over time: numbers that rise and fall, such as PIE's probability.

Of `queues`, each kind of queue has columns of its own. One of whole numbers that never falls
counts something, which other panels tell better.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import polars as pl

from sandglass.install.modules import Member
from sandglass.records import records
from sandglass.results.view.packing import LARGEST

OF_ALL = (
    *("time_ns", "bottleneck", "direction", "backlog_packets", "backlog_bytes"),
    *("sent_packets", "sent_bytes", "drops", "overlimits"),
)
"""Columns that all kinds of queue have."""
LEFT_OUT = ("ldelay_us", "memory_usage", "lastcount", "drop_next_us", "new_flows_len")
"""Of Linux's queues: other panels show the first two of each packet, and `count` the next; the
last two change many times from one sample to the next, which then has any of their values."""
SHARE_PARTS = 10**9
"""In these a probability becomes a whole number."""
PARTS = 10**6
"""And a number that has a unit, such as an average queue in packets."""


def of(samples: pl.DataFrame, kind: str) -> Iterator[tuple[Mapping[str, Any], pl.DataFrame]]:
    """The gauges in the samples of a queue of this kind: what the page is told of each, and it.

    What it is told: title, unit, note, and the factor from `value` to the unit. The table has the
    columns `time` and `value`, both Int64.
    """
    members = {member.name: member for member in records.xstats_of(kind)}
    for name in samples.columns:
        values = samples[name]
        if name in (*OF_ALL, *LEFT_OUT) or not values.count() or not is_gauge(values):
            continue
        member = members.get(name, Member(name, ""))
        parts = 1
        if values.dtype.is_float():
            parts = PARTS if member.unit else SHARE_PARTS
        table = samples.select(
            time="time_ns", value=(pl.col(name) * parts).round().cast(pl.Int64)
        ).drop_nulls()
        in_ms = member.unit == "us"
        told = {
            "title": f"{kind}: {name.removesuffix('_us') if in_ms else name}",
            "unit": "ms" if in_ms else member.unit,
            "note": member.meaning,
            "factor": 1e-3 if in_ms else 1 / parts,
        }
        yield told, table


def of_values(title: str, told: pl.DataFrame) -> tuple[Mapping[str, Any], pl.DataFrame] | None:
    """The same of numbers whose unit nobody knows; None where they are too large for a page."""
    values = told["value"]
    most = float(values.abs().max() or 0)  # type: ignore[arg-type]
    # One that is negative must not become NONE of streams.py.
    below = bool((values < 0).any())
    fine = [1] if bool((values == values.round()).all()) and not below else [PARTS, 1000]
    parts = next((each for each in fine if most * each < LARGEST), None)
    if parts is None:
        return None
    table = told.select(time="time_ns", value=(values * parts).round().cast(pl.Int64))
    note = {"title": title, "unit": "", "note": "", "factor": 1 / parts}
    return note | ({"floating": True} if below else {}), table


def is_gauge(values: pl.Series) -> bool:
    """Whether it is a fraction, or falls: a counter only grows."""
    return values.dtype.is_float() or bool((values.cast(pl.Int64).diff() < 0).any())
