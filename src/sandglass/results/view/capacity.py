"""What a link could have carried over time, as its run's plan has it."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from sandglass.agent import draws
from sandglass.experiment.synthetic import OPPORTUNITY_BITS

NS_PER_MS = 1_000_000


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
    return pl.DataFrame({"time": found, "room": counts.cumsum() * (OPPORTUNITY_BITS // 8)})
