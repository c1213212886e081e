"""Section 3.1: how often queues mark a long flow, and what fair queues and classes give to each."""

from collections.abc import Sequence

import polars as pl
from plotnine import aes, facet_wrap, geom_col, ggplot, labs, theme

from sandglass.papers import ensemble
from sandglass.papers.verdicts import scalar
from sandglass.results import series, style

MARKING = {
    "mark-rates": "DCTCP, step",
    "mark-rates-red": "Reno, RED",
    "mark-rates-codel": "Reno, CoDel",
}
MARKS, JAIN, CALL, SIGNALLED, BELOW = (
    "Marks per second",
    "Jain's index",
    "Longest wait of the call (ms)",
    "Signalled (%)",
    "Signalled below 100 packets (%)",
)


def table(runs: Sequence[series.Run]) -> pl.DataFrame:
    """One row per `measure` and `case`, and its `value`: of one flow through each queue its marks
    per second; of eight flows through fair queues Jain's index of their goodput, and the longest
    wait of a call's packets; of two classes the share of packets that were marked or dropped, of
    all and of those that came while the average was below the first class's minimum threshold."""
    return pl.concat([_values(run) for run in runs]).sort("measure", "case")


def _values(run: series.Run) -> pl.DataFrame:
    kind = str(run.axes["experiment"])
    if kind in MARKING:
        seconds = run.field("virtual_s")
        found = [(MARKS, MARKING[kind], run.field("bottleneck.marks") / seconds)]
    elif kind == "fair-queueing":
        found = _fairness(run, str(run.axes["fair"]))
    else:
        found = _classes(run)
    return pl.DataFrame(
        found, schema={"measure": pl.String, "case": pl.String, "value": pl.Float64}, orient="row"
    )


def _fairness(run: series.Run, case: str) -> list[tuple[str, str, float]]:
    flows = run.records("flows").collect()
    rates = flows.filter(pl.col("workload") == "bulk")["goodput_mbit"]
    call = flows.filter(pl.col("workload") == "media")["flow"][0]
    waits = series.forward(run).filter(pl.col("flow") == call).select("sojourn_ns").collect()
    longest = scalar(waits["sojourn_ns"].max())
    assert longest is not None  # the call sends all the time
    jain = float(rates.sum()) ** 2 / (len(rates) * float((rates**2).sum()))
    return [(JAIN, case, jain), (CALL, case, longest / 1e6)]


def _classes(run: series.Run) -> list[tuple[str, str, float]]:
    averages = series.queue_samples(run).select("time_ns", "mark_avg")
    packets = (
        series.forward(run)
        .sort("enqueue_ns")
        .collect()
        .join_asof(averages, left_on="enqueue_ns", right_on="time_ns")
    )
    low = pl.col("mark_avg") < run.field("experiment.bottleneck.queue.mark_min")
    names = {True: "First class", False: "Second class"}
    return [
        (measure, names[first], share)
        for measure, some in ((SIGNALLED, packets), (BELOW, packets.filter(low)))
        for first, share in some.group_by(pl.col("ecn_in") > 0)
        .agg(share=series.SIGNALLED.mean() * 100)
        .rows()
    ]


def plot(table: pl.DataFrame) -> ggplot:
    """Each measure by case; of replicas the mean."""
    means = ensemble.means(ensemble.numbered(table), ["measure", "case"], "value")
    drawn: ggplot = (
        ggplot(means, aes("case", "value"))
        + facet_wrap("measure", scales="free")
        + geom_col(fill=style.PALETTE[0])
        + labs(x="", y="")
        + theme(figure_size=(10, 6))
    )
    return drawn


def value(table: pl.DataFrame, measure: str, case: str) -> float | None:
    """What was measured."""
    own = table.filter((pl.col("measure") == measure) & (pl.col("case") == case))
    return scalar(own["value"].max())


def ratio(table: pl.DataFrame, measure: str, case: str, over: str) -> float | None:
    """The same of one case over another."""
    one, other = value(table, measure, case), value(table, measure, over)
    return one / other if one is not None and other else None


METRICS = (value, ratio)
