"""What a study measures of flows over time: how fast, how fairly, how soon.

From what was acknowledged (goodput.parquet) and from the transfers of a web load. What does not
happen within the window counts as happening at its end: a bound, and never a missing value.
"""

import math
from typing import cast

import numpy as np
import numpy.typing as npt
import polars as pl

from sandglass.agent import plan
from sandglass.experiment import units
from sandglass.results.series import Run
from sandglass.studies import sql
from sandglass.studies.window import Window

WIRE, PAYLOAD = 1514, 1448
"""Bytes of a full packet, and of payload in it, with timestamps."""
STEP_NS = 100_000_000
"""Of a rate over time."""
CONVERGED, HELD_NS = 0.95, 5_000_000_000
"""Jain's index of flows that have converged, and for how long."""
ROUND_TRIPS = 10
"""In a step in which shares are compared."""
STARVED_NS = 10_000_000_000
"""The length of time in which a share is the least."""
Floats = npt.NDArray[np.float64]


def acknowledged(window: Window, step_ns: int) -> Floats:
    """Bytes by flow, a row for each, and step of the window; whole steps alone.

    A flow of which nothing was ever acknowledged has a row too.
    """
    rows = window.run.records("goodput")
    rows = rows.filter(sql.expression(window.where)) if window.where else rows
    grown = (
        rows.with_columns(pl.col("bytes").cast(pl.Int64))
        .with_columns(new=pl.col("bytes") - pl.col("bytes").shift(1, fill_value=0).over("flow"))
        .with_columns(step=(pl.col("time_ns") - 1 - window.start_ns) // step_ns)
        .collect()
    )
    flows = window.flows()
    steps = (window.end_ns - window.start_ns) // step_ns
    if not flows or not steps:
        raise ValueError("nothing was acknowledged, or the window is shorter than a step")
    found = np.zeros((len(flows), steps))
    within = grown.filter(pl.col("step").is_between(0, steps - 1), pl.col("flow").is_in(flows))
    for flow, step, new in within.select("flow", "step", "new").rows():
        found[flows.index(flow), step] += new
    return found


def reached(window: Window) -> float:
    """Until the flows together are acknowledged this share of what the link can carry, s.

    In a step of 100 ms, at the rate that the link has at the window's end.
    """
    wanted = window.share * rate_bps(window.run, window.end_ns) * PAYLOAD / WIRE / 8
    each = acknowledged(window, STEP_NS).sum(axis=0) * 1e9 / STEP_NS
    there = np.flatnonzero(each >= wanted)
    return float(there[0] + 1) * STEP_NS / 1e9 if there.size else window.seconds


def convergence(window: Window) -> float:
    """Until Jain's index of the flows is 0.95 or more for 5 s, in steps of 10 R, s."""
    step_ns = ROUND_TRIPS * window.rtt_ns
    fair = jain(acknowledged(window, step_ns)) >= CONVERGED
    for first in range(fair.size - math.ceil(HELD_NS / step_ns) + 1):
        if fair[first : first + math.ceil(HELD_NS / step_ns)].all():
            return first * step_ns / 1e9
    return window.seconds


def jain(amounts: Floats) -> Floats:
    """Jain's index (DEC-TR-301, 1984) in each step; 0 where nobody gets anything."""
    squares = amounts.shape[0] * (amounts**2).sum(axis=0)
    found: Floats = np.divide(
        amounts.sum(axis=0) ** 2, squares, out=np.zeros(amounts.shape[1]), where=squares > 0
    )
    return found


def least_share(window: Window) -> float:
    """What the worst flow gets in its worst 10 s, over a fair share: 0 is starved, 1 is fair."""
    step_ns = min(STARVED_NS, window.end_ns - window.start_ns)
    amounts = acknowledged(window, step_ns)
    totals = amounts.sum(axis=0)
    if not totals.all():
        raise ValueError("there are 10 s in which nobody is acknowledged anything")
    return float((amounts.min(axis=0) * amounts.shape[0] / totals).min())


def fct(window: Window) -> float:
    """Completion time of the transfers that begin within the window, a quantile, s."""
    return float(np.quantile(_transfers(window)["took_ns"].to_numpy(), window.share)) / 1e9


def slowdown(window: Window) -> float:
    """Completion time over the least that there can be on an empty link, a quantile.

    The least is a round trip of the handshake, one of request and answer, and what the answer's
    packets take at the link's rate: slow start is not in it.
    """
    planned = cast(plan.Plan, window.run.plan)
    least = {
        flow["id"]: 2 * plan.base_rtt_ns(planned, flow["src"], flow["dst"])
        for flow in planned["flows"]
    }
    rate = rate_bps(window.run, window.end_ns)
    sent = pl.col("bytes") + (pl.col("bytes") / PAYLOAD).ceil() * (WIRE - PAYLOAD)
    shares = _transfers(window).select(
        pl.col("took_ns") / (pl.col("flow").replace_strict(least) + sent * (8e9 / rate))
    )
    return float(np.quantile(shares.to_series().to_numpy(), window.share))


def _transfers(window: Window) -> pl.DataFrame:
    """Those that begin within the window; what is not over at its end took until then."""
    rows = window.run.records("transfers").filter(
        pl.col("start_ns").is_between(window.start_ns, window.end_ns, closed="left")
    )
    rows = rows.filter(sql.expression(window.where)) if window.where else rows
    ended = pl.min_horizontal(pl.col("end_ns").fill_null(window.end_ns), window.end_ns)
    found = rows.with_columns(took_ns=ended - pl.col("start_ns")).collect()
    if found.is_empty():
        raise ValueError("no transfer begins within the window")
    return found


def rate_bps(run: Run, time_ns: int) -> int:
    """Of the first bottleneck, at a time: as given, or as changed last."""
    given = run.field("experiment.bottleneck")
    rate = given["rate"]
    for step in given.get("schedule") or ():
        if units.parse_time(step["at"]) <= time_ns:
            rate = step.get("rate") or rate
    if not isinstance(rate, str):
        raise ValueError("the link follows a trace: it has no rate")
    return units.parse_rate(rate)
