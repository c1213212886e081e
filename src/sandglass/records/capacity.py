"""What a link could have carried over time, as its run's plan has it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from sandglass.agent import draws
from sandglass.agent.plan import OPPORTUNITY_BITS

NS_PER_MS = 1_000_000
PACKET_BYTES = OPPORTUNITY_BITS // 8
OPPORTUNITY_BYTES, LESS_BYTES = 1504, 10
"""What a trace's opportunity takes, and how much less of a packet than its size with the Ethernet
header: its IP length and 4 bytes (kmods/sch_trace/trace.h)."""


@dataclass(frozen=True)
class Room:
    """What one direction of a link can send in a run."""

    bits: float
    less_bytes: int = 0
    """What it does not count of a packet's size."""

    def used(self, size_bytes: int, packets: int) -> float:
        """The part of it that packets of this size together have used; 0 where there is none."""
        sent = 8 * (size_bytes - self.less_bytes * packets)
        return sent / self.bits if self.bits else 0.0


def room(planned: Mapping[str, Any], direction: str, link: str, seed: int, end: int) -> Room:
    """What a link may send from time zero to `end` (ns), by its rate or by its trace.

    `planned` is one of `sandglass.agent.plan.Bottleneck`.
    """
    if trace := planned[direction].get("trace"):
        found = opportunities(trace, link, seed, end)
        packets = int(found["room"][-1]) // PACKET_BYTES if found.height else 0
        return Room(8.0 * OPPORTUNITY_BYTES * packets, LESS_BYTES)
    steps = rates(planned[direction]["rate_bps"], planned["schedule"], f"{direction}_rate_bps", end)
    until = [*steps["time"][1:], end]
    lasting = zip(steps["rate"], steps["time"], until, strict=True)
    return Room(sum(rate * (after - at) / 1e9 for rate, at, after in lasting))


def rates(rate_bps: int, schedule: Sequence[Mapping[str, Any]], key: str, end: int) -> pl.DataFrame:
    """The rates of a link from time zero to `end` (ns): `time` and `rate` (bit/s), from then on.

    `schedule` and its `key` are those of `sandglass.agent.plan.Step`.
    """
    changes = [step for step in schedule if key in step and step["at_ns"] < end]
    times = [0, *(step["at_ns"] for step in changes)]
    table = pl.DataFrame({"time": times, "rate": [rate_bps, *(step[key] for step in changes)]})
    return table.unique("time", keep="last", maintain_order=True)


def opportunities(trace: Mapping[str, Any], link: str, seed: int, end: int) -> pl.DataFrame:
    """What a trace let a link send from time zero to `end` (ns), in packets of 1500 bytes.

    `time`, when there were opportunities, and `room`, the bytes up to then. `trace` is one of
    `sandglass.agent.plan.Trace`; where it leaves its start open, `seed` decides, as in the lab.
    """
    each = np.fromstring(trace["opportunities"], np.int64, sep=",") * NS_PER_MS
    period = int(each[-1])
    start = trace["start_ns"]
    if start is None:
        start = draws.whole(seed, f"trace of {link}") % period
    rounds = np.arange(start // period, (start + end) // period + 1)
    times = (rounds[:, np.newaxis] * period + each).ravel() - start
    within = times[(times >= 0) & (times <= end)]
    found, counts = np.unique(within, return_counts=True)
    return pl.DataFrame({"time": found, "room": counts.cumsum() * PACKET_BYTES})
