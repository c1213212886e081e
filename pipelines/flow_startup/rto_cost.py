"""Section 2.4: what a retransmission timeout costs beside other loss recoveries."""

from collections.abc import Sequence

import polars as pl
from plotnine import ggplot

from pipelines.flow_startup import drawing, transients
from sandglass.papers.verdicts import scalar
from sandglass.results import series


def table(runs: Sequence[series.Run]) -> pl.DataFrame:
    """One row per buffer (in packets) and number of flows: of the flows that retransmitted,
    `timeout_s`, the median completion time of those with a timeout, `other_s`, that of those
    without, and the `ratio` of both; null where there is none of a kind."""
    rows = [
        {
            "buffer": transients.buffer_packets(run),
            "flows": run.field("experiment.flows.0.count"),
            **_times(run.records("flows").collect()),
        }
        for run in runs
    ]
    schema = {"timeout_s": pl.Float64, "other_s": pl.Float64}
    return (
        pl.DataFrame(rows, schema_overrides=schema)
        .with_columns(ratio=pl.col("timeout_s") / pl.col("other_s"))
        .sort("buffer", "flows")
    )


def _times(flows: pl.DataFrame) -> dict[str, float | None]:
    lossy = flows.filter(pl.col("retransmits") > 0)
    timeout = pl.col("rtos") > 0
    return {
        "timeout_s": scalar(lossy.filter(timeout)["fct_s"].median()),
        "other_s": scalar(lossy.filter(~timeout)["fct_s"].median()),
    }


def plot(table: pl.DataFrame) -> ggplot:
    """The ratio against the number of flows, a line per buffer."""
    named = table.with_columns(line=pl.format("{} packets", "buffer"))
    shown = drawing.measures(named, "flows", "line", {"ratio": "Completion time"})
    return drawing.lines(shown, "Parallel flows", "With over without a timeout", log_x=True)
