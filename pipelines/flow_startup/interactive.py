"""Section 3.2: interactive traffic beside flows in slow start, through a queue for each flow."""

from collections.abc import Sequence

import polars as pl
from plotnine import ggplot, scale_y_log10

from pipelines.flow_startup import drawing, transients
from sandglass.papers.verdicts import scalar
from sandglass.results import series

LINES = {1: "constant", 10: "bursts of ten"}
CASE = ("queue", "flows", "burst", "rtt_ms", "rate_mbit")


def table(runs: Sequence[series.Run]) -> pl.DataFrame:
    """One row per queue, number of flows, burst, RTT and rate of the datagrams: `share_mbit`, a
    queue's equal share of the link, the datagrams' rate `rate_mbit` with their headers, their
    longest one-way delays `alone_ms`, before the flows begin, and `beside_ms`, as long after, and
    `increase`, their ratio."""
    ratio = pl.col("beside_ms") / pl.col("alone_ms")
    return pl.DataFrame([_row(run) for run in runs]).with_columns(increase=ratio).sort(CASE)


def _row(run: series.Run) -> dict[str, object]:
    base_ms = run.time_ns("experiment.rtt") / 2e6
    begin_ns = run.time_ns("experiment.flows.1.start")
    datagrams = run.flows.filter(pl.col("workload") == "udp")["flow"][0]
    sent = series.forward(run).filter(pl.col("flow") == datagrams).collect()
    alone, beside = (
        sent.filter(pl.col("enqueue_ns").is_between(from_ns, to_ns, closed="left"))
        for from_ns, to_ns in ((0, begin_ns), (begin_ns, 2 * begin_ns))
    )
    flows = run.field("experiment.flows.1.count")
    return {
        "queue": str(run.axes["queue"]),
        "flows": flows,
        "burst": run.field("experiment.flows.0.burst"),
        "rtt_ms": 2 * base_ms,
        "rate_mbit": 8e3 * int(alone["size_bytes"].sum()) / begin_ns,
        "share_mbit": transients.rate_mbit(run) / (flows + 1),
        "alone_ms": base_ms + _longest_ms(alone),
        "beside_ms": base_ms + _longest_ms(beside),
    }


def _longest_ms(sent: pl.DataFrame) -> float:
    longest = scalar(sent["sojourn_ns"].max())
    assert longest is not None  # datagrams are sent all the time
    return longest / 1e6


def plot(table: pl.DataFrame) -> ggplot:
    """The increase against the rate as a share of the equal one, of replicas the median; a panel
    per queue, a line per kind of traffic and RTT."""
    medians = table.group_by(*CASE, "share_mbit").agg(pl.col("increase").median()).sort(CASE)
    shown = medians.select(
        x=pl.col("rate_mbit") / pl.col("share_mbit"),
        value="increase",
        line=pl.format(
            "{}, {} ms", pl.col("burst").replace_strict(LINES), pl.col("rtt_ms").cast(pl.Int64)
        ),
        panel="queue",
    )
    drawn = drawing.lines(shown, "Rate over an equal share", "Longest delay over that alone", True)
    return drawn + scale_y_log10()
