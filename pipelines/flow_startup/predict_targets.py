"""Section 3.4: what a shorter delay than Predict's costs, by targets below the link's rate."""

from collections.abc import Sequence

import polars as pl
from plotnine import ggplot

from pipelines.flow_startup import drawing, pub4, transients
from sandglass.papers import ensemble
from sandglass.papers.verdicts import scalar
from sandglass.results import series

CASE = ["flows", "rtt_ms"]
WHOLE = 100
"""Predict's target in publication IV, percent of the link's rate."""
MEASURES = {"peak_ms": "Longest wait (ms)", "fct_ratio": "FCT (FIFO: 1)"}


def table(runs: Sequence[series.Run]) -> pl.DataFrame:
    """One row per `target` (percent of the link), number of flows and RTT, with `peak_ms` and
    `fct_ratio` of `pub4`, and `shorter`, by which share the longest wait is shorter than with the
    whole link, in the means over replicas, so that which cases count does not depend on one."""
    fifo = [run for run in runs if "target" not in run.axes]
    own = [run for run in runs if "target" in run.axes]
    found = series.along(own, "target", lambda some: pub4.table([*some, *fifo]))
    predict = found.filter(pl.col("queue") != pub4.OPTIMUM)
    peaks = predict.group_by("target", *CASE).agg(pl.col("peak_ms").mean())
    whole = peaks.filter(target=WHOLE).drop("target")
    shorter = peaks.join(whole, on=CASE, suffix="_whole").select(
        "target", *CASE, shorter=1 - pl.col("peak_ms") / pl.col("peak_ms_whole")
    )
    both = predict.join(shorter, on=["target", *CASE], how="left", maintain_order="left")
    return both.select("target", *CASE, *MEASURES, "shorter").sort("target", *CASE)


def plot(table: pl.DataFrame) -> ggplot:
    """Completion time against the longest wait, medians over RTTs by target; a panel per measure
    and a line per number of flows."""
    case = [ensemble.REPLICA, "target", "flows"]
    medians = ensemble.numbered(table).group_by(case).agg(pl.col(*MEASURES).median())
    named = medians.with_columns(line=transients.flow_label(medians, "flows"))
    return drawing.lines(
        drawing.measures(named, "target", "line", MEASURES), "Target (% of the link)", ""
    )


def cost(table: pl.DataFrame, shorter: float) -> float | None:
    """Completion time over that with a FIFO where the longest wait is shorter than with the whole
    link as the target by at least a share; the median over these cases."""
    return scalar(table.filter(pl.col("shorter") >= shorter)["fct_ratio"].median())


METRICS = (cost,)
