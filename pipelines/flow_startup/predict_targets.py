"""Section 3.4: what a shorter delay than Predict's costs, by targets below the link's rate."""

from collections.abc import Sequence

import polars as pl
from plotnine import ggplot

from pipelines.flow_startup import drawing, pub4, transients
from sandglass.papers import ensemble
from sandglass.papers.verdicts import scalar
from sandglass.results import series

CASE = ["flows", "rtt_ms"]
MEASURES = {"peak_ms": "Longest wait (ms)", "fct_ratio": "FCT (FIFO: 1)"}


def table(runs: Sequence[series.Run]) -> pl.DataFrame:
    """One row per `target` (percent of the link), number of flows and RTT, with `peak_ms` and
    `fct_ratio` of `pub4`."""
    fifo = [run for run in runs if "target" not in run.axes]
    own = [run for run in runs if "target" in run.axes]
    found = series.along(own, "target", lambda some: pub4.table([*some, *fifo]))
    predict = found.filter(pl.col("queue") != pub4.OPTIMUM)
    return predict.select("target", *CASE, *MEASURES).sort("target", *CASE)


def plot(table: pl.DataFrame) -> ggplot:
    """Completion time against the longest wait, medians over RTTs by target; a panel per measure
    and a line per number of flows."""
    case = [ensemble.REPLICA, "target", "flows"]
    medians = ensemble.numbered(table).group_by(case).agg(pl.col(*MEASURES).median())
    named = medians.with_columns(line=transients.flow_label(medians, "flows"))
    return drawing.lines(
        drawing.measures(named, "target", "line", MEASURES), "Target (% of the link)", ""
    )


def cost(
    table: pl.DataFrame, targets: Sequence[int], cases: Sequence[tuple[int, float]]
) -> float | None:
    """Completion time over that with a FIFO, the median over targets and cases, which are numbers
    of flows with an RTT in ms."""
    those = pl.DataFrame(cases, schema=table.select(CASE).schema, orient="row")
    chosen = table.filter(pl.col("target").is_in(targets)).join(those, on=CASE, how="semi")
    return scalar(chosen["fct_ratio"].median())


METRICS = (cost,)
