"""Section 2.2, notes to Publication I: what the call loses where the buffer is small."""

from collections.abc import Sequence

import polars as pl
from plotnine import ggplot

from pipelines.flow_startup import drawing
from sandglass.experiment import units
from sandglass.papers.verdicts import scalar
from sandglass.results import series

MEASURES = {"lost": "Packets of the call lost", "longest_row": "Longest loss period (packets)"}


def table(runs: Sequence[series.Run]) -> pl.DataFrame:
    """One row per buffer (packets), initial window and number of web flows: packets of the call
    that were `lost` from the first web flow's start on, and how many of them in the longest loss
    period, `longest_row`."""
    return pl.DataFrame([_row(run) for run in runs]).sort("buffer", "initial_window", "flows")


def _row(run: series.Run) -> dict[str, int]:
    web = run.field("experiment.flows.1")
    lost = (
        run.records("media")
        .filter(
            (pl.col("sent_ns") >= units.parse_time(web["start"])) & pl.col("delay_ns").is_null()
        )
        .collect()
    )
    rows = lost.group_by("loss_period").len()["len"].to_list()
    return {
        "buffer": run.field("experiment.bottleneck.queue.limit"),
        "initial_window": run.field("experiment.hosts.s2.initcwnd"),
        "flows": web["count"],
        "lost": len(lost),
        "longest_row": max(rows, default=0),
    }


def plot(table: pl.DataFrame) -> ggplot:
    """Both against the number of flows, a line per initial window and buffer."""
    named = table.with_columns(
        line=pl.format("IW {}, {} packets", "initial_window", pl.col("buffer"))
    )
    return drawing.lines(drawing.measures(named, "flows", "line", MEASURES), "Parallel flows", "")


def grows_with_flows(table: pl.DataFrame, column: str) -> float | None:
    """Spearman's correlation of a measure's sum over buffers and initial windows with the number of
    flows."""
    totals = table.group_by("flows").agg(pl.sum(column))
    return scalar(totals.select(pl.corr("flows", column, method="spearman")).item())


METRICS = (grows_with_flows,)
