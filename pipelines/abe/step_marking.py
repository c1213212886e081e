"""Section V: ABE through a step on the instantaneous queue, as for DCTCP, and through RED."""

from collections.abc import Sequence

import numpy as np
import polars as pl
from plotnine import ggplot

from pipelines.abe import drawing, settings
from sandglass.papers.verdicts import Extreme, largest, scalar
from sandglass.results import series

PACKET_MS = settings.PACKET_BYTES * 8 / 20e3
"""What one packet takes to send at the scenario's 20 Mb/s."""
MEASURES = {"goodput_mbit": "Goodput (Mb/s)", "delay_ms": "95th percentile of delay (ms)"}


def table(runs: Sequence[series.Run]) -> pl.DataFrame:
    """One row per marking, base RTT and beta_ecn: `goodput_mbit`, and `delay_ms`, the 95th
    percentile of the queueing delay."""
    rows = [
        {
            "marking": str(run.axes["marking"]),
            "rtt_ms": settings.rtt_ns(run) / 1e6,
            "beta": settings.beta_ecn(run),
            "goodput_mbit": float(run.field("flows.0.goodput_mbit")),
            "delay_ms": float(run.field("bottleneck.queue_delay_ms.p95")),
        }
        for run in runs
    ]
    return pl.DataFrame(rows).sort("marking", "rtt_ms", "beta")


def plot(table: pl.DataFrame) -> ggplot:
    """Goodput and delay against beta_ecn at the largest RTT, a line per marking."""
    return drawing.panels(_far(table), MEASURES, ("beta", "beta_ecn"), ("marking", "marking"))


def gain(table: pl.DataFrame, marking: str, beta: float, over: float) -> float | None:
    """What a beta_ecn adds to the goodput of another at the largest RTT, as a share."""
    own = _far(table).filter(pl.col("marking") == marking)
    one, other = (own.filter(pl.col("beta") == b) for b in (beta, over))
    if one.is_empty() or other.is_empty():
        return None
    return scalar((one["goodput_mbit"] / other["goodput_mbit"] - 1).max())


def delay_over(table: pl.DataFrame, marking: str, beta: float, over: float) -> Extreme | None:
    """The delay with a beta_ecn over that with another; the largest over the RTTs."""
    own = table.filter(pl.col("marking") == marking)
    one, other = (own.filter(pl.col("beta") == b) for b in (beta, over))
    both = one.join(other, on="rtt_ms", suffix="_over")
    ratio = pl.col("delay_ms") / pl.col("delay_ms_over")
    return largest(both.select("rtt_ms", ratio=ratio), "ratio")


def packets_waited(table: pl.DataFrame, marking: str, beta: float) -> float | None:
    """The delay at the largest RTT in times of one packet."""
    own = _far(table).filter(pl.col("marking") == marking, pl.col("beta") == beta)
    return scalar((own["delay_ms"] / PACKET_MS).max())


def step_over_codel(table: pl.DataFrame, beta: float) -> float | None:
    """The delay of a step over CoDel's, where both have the same goodput, at the largest RTT.

    The step's delay is interpolated between the thresholds next to CoDel's goodput; of one above or
    below all of them it is the nearest one's.
    """
    own = _far(table).filter(pl.col("beta") == beta)
    codel = own.filter(pl.col("marking") == "CoDel")
    steps = own.filter(pl.col("marking").str.starts_with("step")).sort("goodput_mbit")
    if codel.is_empty() or steps.is_empty():
        return None
    same = np.interp(codel["goodput_mbit"][0], steps["goodput_mbit"], steps["delay_ms"])
    return float(same) / float(codel["delay_ms"][0])


METRICS = (gain, delay_over, packets_waited, step_over_codel)


def _far(table: pl.DataFrame) -> pl.DataFrame:
    return table.filter(pl.col("rtt_ms") == pl.col("rtt_ms").max())
