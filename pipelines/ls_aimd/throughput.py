"""What each of several flows got, for the figures of experiments 4A and 4E."""

from collections.abc import Sequence

import polars as pl
from plotnine import aes, facet_grid, geom_line, ggplot, labs

from pipelines.ls_aimd import steady
from sandglass.papers.verdicts import scalar
from sandglass.results import series, style

STEP_NS = 1_000_000_000


def table(runs: Sequence[series.Run]) -> pl.DataFrame:
    """One row per run, flow and second: `second`, at its end, and `mbit` of the link's rate.

    Of the run's second half also `in_flight`: a sender's packets on their way, as `on_their_way`
    has them, and of all of the run `timeouts`; in each row.
    """
    rows: list[dict[str, object]] = []
    for run in runs:
        end = run.time_ns("experiment.duration")
        sent = (
            series.forward(run)
            .filter((pl.col("dequeue_ns") < end) & (pl.col("flow") > 0))
            .group_by("flow", second=pl.col("dequeue_ns") // STEP_NS + 1)
            .agg(mbit=pl.col("size_bytes").sum().cast(pl.Float64) * 8e-6)
            .sort("flow", "second")
            .collect()
        )
        whole = {
            **steady.case(run),
            "in_flight": on_their_way(run),
            "timeouts": sum(flow["rtos"] for flow in run.field("flows")),
        }
        rows += [{**whole, **row} for row in sent.to_dicts()]
    return steady.ordered(rows)


def on_their_way(run: series.Run) -> float:
    """A sender's packets on their way in the second half, the mean over the senders by Little's
    law: packets sent per second times mean SRTT."""
    count = steady.packets(run).select(pl.len()).collect().item()
    srtt_s = steady.acks(run).select(pl.col("srtt_us").mean()).collect().item() / 1e6
    return float(count / steady.seconds(run) * srtt_s / steady.flows(run))


def plot(table: pl.DataFrame) -> ggplot:
    """Each flow's throughput over time, a panel per marking scheme and sender."""
    drawn: ggplot = (
        ggplot(steady.labelled(table), aes("second", "mbit", group="flow"))
        + facet_grid("marking", "sender")
        + geom_line(size=0.3, alpha=0.6, color=style.PALETTE[0])
        + labs(x="Time (s)", y="Throughput of each flow (Mb/s)")
    )
    return drawn


def least_share(table: pl.DataFrame, marking: str, sender: str) -> float | None:
    """The throughput of the flow that got least in the second half, over the mean."""
    rows = steady.matching(table, marking, sender, None)
    last = rows["second"].max()
    assert isinstance(last, int)
    late = rows.filter(pl.col("second") > last / 2).group_by("flow").agg(pl.col("mbit").sum())
    means = late["mbit"]
    mean, least = scalar(means.mean()), scalar(means.min())
    return None if mean is None or least is None else least / mean


METRICS = (least_share,)
