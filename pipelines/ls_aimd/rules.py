"""The sender's rules, by what each ACK makes of its state and when its segments leave."""

from collections.abc import Sequence
from typing import Literal

import numpy as np
import polars as pl
from plotnine import aes, facet_wrap, geom_hline, geom_point, ggplot, labs, scale_color_manual

from pipelines.ls_aimd import increase, segments, steady
from sandglass.papers import ensemble
from sandglass.papers.verdicts import scalar
from sandglass.results import series, style

DELTA = 2
"""Stated: segments that a receiver may acknowledge at once."""
G = 1 / 16
"""Stated: the weight of a round trip in DCTCP's alpha."""
RATIOS = {
    "growth_waiting": "Growth of the window over the rule's, below 2 segments",
    "growth_open": "Growth over the rule's, from 2 segments on",
    "gap": "Time between segments over s/W of the smoothed round trip",
    "srtt_pace": "SRTT_pace over the path's round trip",
}


def table(runs: Sequence[series.Run]) -> pl.DataFrame:
    """One row per run and kind of `acks`, of its second half; null where nothing is measured.

    `growth_waiting` and `growth_open` are what an ACK added to the window over add_B SMSS/W_B and
    add_B/W_s of each segment, the medians below DELTA segments and above; `reduction_bytes` the
    largest distance of a reduced threshold from inflight_B (1 - alpha/2), alpha by the recurrence
    (Reno: 1); `gap` the median time between segments that wait over s_B/W_B of the smoothed time
    from a segment to the ACK that acknowledges it last; `srtt_pace` the pace's mean SRTT over the
    path's mean round trip; `least_wait` the least wait of a packet over the transmission of those
    that it found in the queue; `least_ssthresh` AIMD's least threshold in segments.
    """
    return steady.ordered(_row(run) for run in runs)


def _row(run: series.Run) -> dict[str, object]:
    names = steady.case(run)
    row: dict[str, object] = {
        **names,
        "acks": str(run.axes.get("acks", "each")),
        "least_wait": _least_wait(run),
    }
    if names["sender"] == "AIMD":
        found = steady.acks(run).select(pl.col("ssthresh_packets").min()).collect().item()
        return row | {"least_ssthresh": found}
    return row | _growth(run) | _pace(run) | {"reduction_bytes": _reduction(run)}


def _least_wait(run: series.Run) -> float | None:
    waited = steady.packets(run).filter(
        pl.col("sojourn_ns").is_not_null(), pl.col("queue_packets") > 0
    )
    ahead_ns = pl.col("queue_bytes") * (8e9 / steady.rate_bps(run))
    return scalar(waited.select(least=(pl.col("sojourn_ns") / ahead_ns).min()).collect().item())


def _mss(run: series.Run) -> int:
    return int(run.field("experiment.hosts.s1.mtu")) - increase.HEADERS


def _growth(run: series.Run) -> dict[str, object]:
    mss = _mss(run)
    waits = pl.col("window_bytes") < DELTA * mss
    acked = pl.col("new_delivered_packets") - pl.col("delivered_packets")
    segments_in_window = (pl.col("window_bytes") / mss).floor()
    each = (
        pl.when(waits)
        .then(pl.col("increase_bytes") * mss / pl.col("window_bytes"))
        .otherwise(pl.col("increase_bytes") / segments_in_window)
    )
    begin, end = steady.interval_ns(run)
    found = (
        segments.acks(run)
        .filter(
            pl.col("time_ns").is_between(begin, end, closed="left"),
            pl.col("new_threshold_bytes") == pl.col("threshold_bytes"),
            pl.col("window_bytes") >= pl.col("threshold_bytes"),
            pl.col("new_delivered_packets") > pl.col("delivered_packets"),
        )
        .select(
            waits=waits,
            ratio=(pl.col("new_window_bytes") - pl.col("window_bytes")) / (each * acked),
        )
    )
    return {
        "growth_waiting": found.filter(pl.col("waits"))["ratio"].median(),
        "growth_open": found.filter(~pl.col("waits"))["ratio"].median(),
    }


def _pace(run: series.Run) -> dict[str, object]:
    """Of segments that wait; a segment's gap to the next is by the state that it left with, which
    the record has with the next ACK."""
    mss = _mss(run)
    waits = pl.col("window_bytes") < DELTA * mss
    state = steady.acks(run).filter(waits)
    pace_ns = pl.col("window_bytes") / pl.col("pacing_rate_bytes_s") * 1e9
    path_ns = steady.packets(run).select(segments.path_ns(run).mean()).collect().item()
    return {
        "gap": _gaps(run).filter(waits)["ratio"].median(),
        "srtt_pace": scalar(state.select(pace_ns.mean() / path_ns).collect().item()),
    }


def _gaps(run: series.Run) -> pl.DataFrame:
    """Each segment of the second half: `window_bytes` as it left, and `ratio`, the time to the next
    one over s_B/W_B of the round trip that ACKs have told, smoothed as TCP does."""
    answered = pl.col("path_ns") + pl.col("late_ns")
    known = segments.acknowledged(run).select(
        "flow",
        "time_ns",
        srtt_ns=answered.ewm_mean(alpha=1 / 8, adjust=False).over("flow"),
    )
    states = segments.acks(run).select("flow", "time_ns", "window_bytes")
    gaps = segments.sent(run).with_columns(
        gap_ns=pl.col("enqueue_ns").shift(-1).over("flow") - pl.col("enqueue_ns")
    )
    ways: tuple[tuple[pl.DataFrame, Literal["backward", "forward"]], ...]
    ways = (known, "backward"), (states, "forward")
    for other, way in ways:
        gaps = gaps.sort("enqueue_ns").join_asof(
            other.sort("time_ns"),
            left_on="enqueue_ns",
            right_on="time_ns",
            by="flow",
            strategy=way,
            check_sortedness=False,  # it cannot be, by flow
        )
    rule_ns = pl.col("payload_bytes") / pl.col("window_bytes") * pl.col("srtt_ns")
    return gaps.select("window_bytes", ratio=pl.col("gap_ns") / rule_ns).drop_nulls()


def _reduction(run: series.Run) -> float | None:
    begin, _ = steady.interval_ns(run)
    reno = steady.case(run)["marking"] == "RED ramp"
    sent = segments.sent(run).partition_by("flow", as_dict=True)
    off: list[float] = []
    for key, own in segments.acks(run).partition_by("flow", as_dict=True).items():
        alpha = np.ones(len(own)) if reno else alphas(own, sent[key])
        window = own["window_bytes"].to_numpy()
        threshold, new = (own[f"{n}threshold_bytes"].to_numpy() for n in ("", "new_"))
        reduced = (new != threshold) & (own["time_ns"].to_numpy() >= begin)
        off += list(np.abs(new - window * (1 - alpha / 2))[reduced])
    return max(off, default=None)


def alphas(acks: pl.DataFrame, sent: pl.DataFrame) -> np.ndarray:
    """A flow's alpha as each of its ACKs is answered, by the recurrence over the marks of each
    round trip: it begins as 1, and a round trip ends with the ACK of the last byte that was on its
    way, whose own mark counts."""
    times, ends = sent["enqueue_ns"].to_numpy(), sent["end"].to_numpy()
    last = np.searchsorted(times, acks["time_ns"].to_numpy(), side="left") - 1
    next_byte = np.maximum.accumulate(ends)[np.maximum(last, 0)]
    acked = acks["new_bytes_acked"].to_numpy().astype(np.int64) - 1
    delivered, marked = (
        acks[name].to_numpy().astype(np.int64)
        for name in ("new_delivered_packets", "new_delivered_ce_packets")
    )
    alpha, round_end = 1.0, next_byte[0]
    before = delivered[0], marked[0]
    found = np.empty(len(acks))
    for index in range(len(acks)):
        if acked[index] >= round_end:
            arrived, with_mark = delivered[index] - before[0], marked[index] - before[1]
            share = min(with_mark, arrived) / arrived if arrived > 0 else 0.0
            alpha += G * (share - alpha)
            round_end, before = next_byte[index], (delivered[index], marked[index])
        found[index] = alpha
    return found


def plot(table: pl.DataFrame) -> ggplot:
    """What was measured over what the rule has, by experiment."""
    named = pl.format("{}, {}", pl.col("case").cast(pl.String), pl.col("marking").cast(pl.String))
    own = (
        steady.labelled(table)
        .filter(pl.col("sender").cast(pl.String) != "AIMD")
        .with_columns(pl.col(*RATIOS).cast(pl.Float64))  # read from a file, nothing is a string
        .with_columns(name=named)
    )
    shown = ensemble.measures(own, RATIOS, ["name", "sender", "acks"]).drop_nulls("value")
    drawn: ggplot = (
        ggplot(shown, aes("name", "value", color="sender", shape="acks"))
        + geom_hline(yintercept=1, linetype="dotted")
        + facet_wrap("measure", ncol=1)
        + geom_point(size=2)
        + scale_color_manual(style.PALETTE)
        + labs(x="", y="", color="", shape="ACKs")
    )
    return drawn
