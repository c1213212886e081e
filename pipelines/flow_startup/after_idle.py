"""Section 2.6: with which window a flow goes on after idle time, and what a call feels of it."""

from collections.abc import Sequence

import polars as pl
from plotnine import ggplot

from pipelines.flow_startup import drawing
from sandglass.results import series

MEASURES = {
    "first_window": "Packets in the first RTT",
    "longest_ms": "Longest one-way delay (ms)",
}
SECOND_ROUND = 2
CASE = ["restart", "sender", "pause_s"]


def table(runs: Sequence[series.Run]) -> pl.DataFrame:
    """One row per way to restart, way to send and pause.

    `old_window` is the window before the pause, at most what a round sends; `first_window`, packets
    sent in the base round trip after it; `longest_ms` the call's longest one-way delay after it.
    """
    return pl.DataFrame([_row(run) for run in runs]).sort(CASE)


def _row(run: series.Run) -> dict[str, object]:
    rounds = run.records("rounds").sort("round").collect()
    start = int(rounds.filter(round=SECOND_ROUND)["start_ns"][0])
    data = series.forward(run).filter((pl.col("src") == "s2") & (pl.col("payload_bytes") > 0))
    first = data.filter(
        pl.col("enqueue_ns").is_between(start, start + run.time_ns("experiment.rtt"), "left")
    )
    sent = data.filter(pl.col("enqueue_ns") >= start).select(pl.len()).collect().item()
    before = (
        run.records("acks")
        .filter((pl.col("src") == "s2") & (pl.col("time_ns") < start))
        .sort("time_ns")
        .collect()
    )
    call = run.records("media").filter(pl.col("sent_ns") >= start)
    return {
        "restart": str(run.axes["restart"]),
        "sender": str(run.axes["sender"]),
        "pause_s": run.time_ns("experiment.flows.1.pause") / 1e9,
        "old_window": min(int(before["cwnd_packets"][-1]), sent),
        "first_window": first.select(pl.len()).collect().item(),
        "longest_ms": call.select(pl.col("delay_ns").max()).collect().item() / 1e6,
    }


def plot(table: pl.DataFrame) -> ggplot:
    """Both against the pause, a line per way to restart and to send."""
    named = table.with_columns(line=pl.format("{}, {}", "restart", "sender"))
    return drawing.lines(drawing.measures(named, "pause_s", "line", MEASURES), "Pause (s)", "")


def window_lost(table: pl.DataFrame, restart: str, short_s: float, long_s: float) -> float | None:
    """Packets in the first round trip of an unpaced sender after a short pause less those after a
    long one."""
    found = dict(
        table.filter(restart=restart, sender="unpaced").select("pause_s", "first_window").rows()
    )
    both = {short_s, long_s} <= set(found)
    return float(found[short_s] - found[long_s]) if both else None


METRICS = (window_lost,)
