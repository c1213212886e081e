"""Section V: ABE through a step on the instantaneous queue, as for DCTCP, and through RED."""

from collections.abc import Sequence

import numpy as np
import polars as pl
from plotnine import ggplot

from pipelines.abe import drawing, settings
from sandglass.papers.verdicts import scalar
from sandglass.results import series

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


METRICS = (gain, step_over_codel)


def _far(table: pl.DataFrame) -> pl.DataFrame:
    return table.filter(pl.col("rtt_ms") == pl.col("rtt_ms").max())
