"""Section 3.2: short flows that end before any AQM has signalled to them."""

from collections.abc import Sequence

import polars as pl
from plotnine import ggplot

from pipelines.flow_startup import drawing, pub4
from sandglass.experiment import units
from sandglass.papers import ensemble
from sandglass.results import series

CASE = ["queue", "initial_window", "size_kb", "flows", "rtt_ms"]


def table(runs: Sequence[series.Run]) -> pl.DataFrame:
    """One row per queue, initial window, size, number of flows and RTT: `unsignalled`, the share of
    flows of which no packet was marked or dropped."""
    rows = [
        {
            "queue": pub4.QUEUES[str(run.axes["experiment"])],
            "initial_window": run.field("experiment.hosts.s1.initcwnd"),
            "size_kb": units.parse_size(run.field("experiment.flows.0.size")) / 1e3,
            "flows": run.field("experiment.flows.0.count"),
            "rtt_ms": run.time_ns("experiment.rtt") / 1e6,
            "unsignalled": _unsignalled(run),
        }
        for run in runs
    ]
    return pl.DataFrame(rows).sort(CASE)


def _unsignalled(run: series.Run) -> float:
    flows = run.field("experiment.flows.0.count")
    signalled = series.forward(run).filter(series.SIGNALLED).select("sport", "dport").unique()
    return 1 - signalled.collect().height / float(flows)


def plot(table: pl.DataFrame) -> ggplot:
    """The share against the RTT, a line per size and a panel per queue; the mean over numbers of
    flows and initial windows."""
    case = [ensemble.REPLICA, "queue", "size_kb", "rtt_ms"]
    mean = ensemble.numbered(table).group_by(case).agg(pl.col("unsignalled").mean())
    sizes = {size: f"{size:g} kB" for size in table["size_kb"].unique().sort()}
    shown = mean.select(
        ensemble.REPLICA,
        x="rtt_ms",
        value="unsignalled",
        line=pl.col("size_kb").replace_strict(sizes, return_dtype=pl.Enum(list(sizes.values()))),
        panel="queue",
    )
    return drawing.lines(shown, "Base RTT (ms)", "Share of flows without a signal", log_x=True)
