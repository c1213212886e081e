"""Publication IV: longest queueing delay and flow completion time against RTT."""

import math
from collections.abc import Sequence

import polars as pl
from plotnine import facet_grid, ggplot

from pipelines.flow_startup import transients
from sandglass.papers import ensemble
from sandglass.papers.verdicts import Extreme, scalar
from sandglass.results import series

QUEUES = {
    "pub4-predict": "Predict, rate kept",
    "pub4-compatible": "Predict, 200 %",
    "pub4-codel": "CoDel",
    "pub4-pie": "PIE",
    "pub4-sfq-codel": "SFQ-CoDel",
    "pub4-fq-codel": "FQ-CoDel",
    "pub4-fifo": "FIFO",
}
RIVALS = ("CoDel", "PIE", "SFQ-CoDel", "FQ-CoDel")
"""Those of the thesis, and FQ-CoDel."""
OPTIMUM = "FIFO"
COMPLETION = "FCT (FIFO: 1)"
MEASURES = {"peak_ms": "Longest wait (ms)", "fct_ratio": COMPLETION}


def table(runs: Sequence[series.Run]) -> pl.DataFrame:
    """One row per queue, pacing, number of flows and RTT; means over the seeds.

    `peak_ms` is the longest wait of a packet whose flow was in slow start when it came;
    `fct_s` the mean completion time of the flows, `slowest_s` that of the last, and `fct_ratio` the
    mean time over that with a FIFO that never drops, null where there is none.
    """
    rows = [
        {
            "queue": QUEUES[str(run.axes["experiment"])],
            "senders": str(run.axes["senders"]),
            "flows": run.field("experiment.flows.0.count"),
            "rtt_ms": run.time_ns("experiment.rtt") / 1e6,
            "seed": run.field("seed"),
            "peak_ms": transients.longest_wait_ms(run),
            **transients.completion(run),
        }
        for run in runs
    ]
    case = ["senders", "flows", "rtt_ms"]
    means = (
        pl.DataFrame(rows)
        .group_by("queue", *case)
        .agg(pl.len().alias("seeds"), pl.col("peak_ms", "fct_s", "slowest_s").mean())
    )
    optimum = means.filter(pl.col("queue") == OPTIMUM).select(*case, optimum_s="fct_s")
    return (
        means.join(optimum, on=case, how="left")
        .with_columns(fct_ratio=pl.col("fct_s") / pl.col("optimum_s"))
        .drop("optimum_s")
        .sort("queue", *case)
    )


def plot(table: pl.DataFrame) -> ggplot:
    """Delay above, completion time below; a panel per number of flows, unpaced senders."""
    unpaced = table.filter(pl.col("senders") == "unpaced")
    shown = (
        ensemble.measures(unpaced, MEASURES, ["queue", "flows", "rtt_ms"])
        .with_columns(panel=transients.flow_label(table, "flows"))
        .filter((pl.col("queue") != OPTIMUM) | (pl.col("measure") != COMPLETION))
    )
    drawn: ggplot = transients.against_rtt(shown) + facet_grid("measure", "panel", scales="free_y")
    return drawn


def peak_margin(
    table: pl.DataFrame,
    queue: str,
    at_ms: float,
    rtt_from: float,
    rtt_to: float,
    flows_from: int = 1,
    flows_to: float = math.inf,
) -> Extreme | None:
    """A queue's wait at one RTT over that at those outside of a range, the least; geometric means
    over the numbers of flows from one to another."""
    own = _of(table, queue, 0, 1e9, "unpaced").filter(
        pl.col("flows").is_between(flows_from, flows_to)
    )
    return transients.peak_margin(own, at_ms, rtt_from, rtt_to)


def pacing_effect(
    table: pl.DataFrame, queue: str, rtt_from: float, senders: str, over: str = "unpaced"
) -> float | None:
    """The longest wait with one pacing over that with another, mean over flows and RTTs."""
    own = table.filter(pl.col("rtt_ms") >= rtt_from, queue=queue)
    return scalar(pacing_ratios(own, ["flows", "rtt_ms"], senders, over)["ratio"].mean())


def pacing_ratios(
    table: pl.DataFrame, case: Sequence[str], senders: str, over: str = "unpaced"
) -> pl.DataFrame:
    """The columns of a case, and `ratio`, the longest wait with one pacing over another's."""
    one, other = (table.filter(senders=each).select(*case, "peak_ms") for each in (senders, over))
    both = one.join(other, on=list(case), suffix="_over")
    return both.select(*case, ratio=pl.col("peak_ms") / pl.col("peak_ms_over"))


def _reductions(
    table: pl.DataFrame,
    queue: str,
    rivals: Sequence[str] = RIVALS,
    rtt_from: float = 0,
    rtt_to: float = 1e9,
) -> pl.Series:
    """The least wait of the rivals over a queue's, at each number of flows and RTT."""
    case = ["flows", "rtt_ms"]
    unpaced = table.filter(
        pl.col("senders") == "unpaced", pl.col("rtt_ms").is_between(rtt_from, rtt_to)
    )
    best = unpaced.filter(pl.col("queue").is_in(rivals)).group_by(case).agg(pl.col("peak_ms").min())
    own = unpaced.filter(pl.col("queue") == queue).join(best, on=case, suffix="_best")
    return own["peak_ms_best"] / own["peak_ms"]


def share_below_rivals(table: pl.DataFrame, queue: str) -> float | None:
    """The share of cases in which a queue's longest wait is below all rivals', in percent."""
    return scalar((_reductions(table, queue) > 1).mean() * 100)  # type: ignore[operator]


def share_below(
    table: pl.DataFrame,
    queue: str,
    times: float,
    rivals: Sequence[str] = RIVALS,
    rtt_from: float = 0,
    rtt_to: float = 1e9,
    flows_to: float = math.inf,
) -> float | None:
    """The share of cases in which the best rival's longest wait is so many times a queue's or more,
    in percent; of up to so many flows."""
    few = table.filter(pl.col("flows") <= flows_to)
    found = _reductions(few, queue, rivals, rtt_from, rtt_to)
    return scalar((found >= times).mean() * 100) if len(found) else None  # type: ignore[operator]


def completion_over_best(table: pl.DataFrame, queue: str) -> float | None:
    """Completion time over the shortest with a rival: the median over numbers of flows, the largest
    of these over the RTTs."""
    case = ["flows", "rtt_ms"]
    unpaced = table.filter(pl.col("senders") == "unpaced")
    best = unpaced.filter(pl.col("queue").is_in(RIVALS)).group_by(case).agg(pl.col("fct_s").min())
    own = unpaced.filter(pl.col("queue") == queue).join(best, on=case, suffix="_best")
    ratios = own.with_columns(ratio=pl.col("fct_s") / pl.col("fct_s_best"))
    return scalar(ratios.group_by("rtt_ms").agg(pl.col("ratio").median())["ratio"].max())


METRICS = (completion_over_best, peak_margin, pacing_effect, share_below_rivals, share_below)


def _of(
    table: pl.DataFrame, queue: str, rtt_from: float, rtt_to: float, senders: str
) -> pl.DataFrame:
    return table.filter(
        (pl.col("queue") == queue)
        & (pl.col("senders") == senders)
        & (pl.col("rtt_ms") >= rtt_from)
        & (pl.col("rtt_ms") <= rtt_to)
    )
