"""Section 1.4, Publication I: what a long-lived bulk flow does to an audio call."""

from collections.abc import Sequence

import polars as pl
from plotnine import ggplot

from pipelines.flow_startup import drawing
from sandglass.experiment import units
from sandglass.results import series

MEASURES = {
    "median_ms": "Median one-way delay (ms)",
    "longest_ms": "Longest one-way delay (ms)",
    "unplayed": "Not played within 150 ms (%)",
}


def table(runs: Sequence[series.Run]) -> pl.DataFrame:
    """One row per congestion control and buffer (packets) of the call beside the bulk flow:
    `median_ms` and `longest_ms` of its one-way delay, `unplayed` packets, lost or later than the
    playout delay, in percent; `median_ratio`, the median over the longest delay before."""
    return pl.DataFrame([_row(run) for run in runs]).sort("control", "buffer")


def _row(run: series.Run) -> dict[str, object]:
    bulk = run.field("experiment.flows.1")
    start = units.parse_time(bulk["start"])
    call = run.records("media").collect()
    during = call.filter(
        pl.col("sent_ns") >= start + units.parse_time(bulk.get("start_within", "0s"))
    )
    calm = call.filter(pl.col("sent_ns") < start).select(pl.col("delay_ns").max()).item()
    median, longest = during.select(
        pl.col("delay_ns").median().alias("median"), pl.col("delay_ns").max().alias("longest")
    ).row(0)
    return {
        "control": bulk["cc"],
        "buffer": run.field("experiment.bottleneck.queue.limit"),
        "median_ms": median / 1e6,
        "longest_ms": longest / 1e6,
        "median_ratio": median / calm,
        "unplayed": 100 * during.select(pl.col("late").fill_null(True).mean()).item(),
    }


def plot(table: pl.DataFrame) -> ggplot:
    """Measures against the buffer, a line per congestion control."""
    shown = drawing.measures(table, "buffer", "control", MEASURES)
    return drawing.lines(shown, "Buffer (packets)", "")
