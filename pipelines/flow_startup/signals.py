"""Sections 3.2 to 4.3: what the link carries when a transient is signalled, what comes of it."""

from collections.abc import Sequence

import plotnine as p9
import polars as pl

from pipelines.flow_startup import pub4, transients
from sandglass.papers import ensemble
from sandglass.papers.verdicts import Extreme, farthest, scalar
from sandglass.results import series, style

AT_THE_HEAD = ("CoDel", "SFQ-CoDel")
"""Queues that mark what leaves; the others mark what comes."""
FLOW = ["sport", "dport"]
SAMPLE_NS = 15_000_000
"""Between two of PIE's samples of the delay, its default."""


def table(runs: Sequence[series.Run]) -> pl.DataFrame:
    """One row per queue, pacing, number of flows and RTT, of one run each.

    `end_share` and `after_share` are those of `windows`. At the first mark: `load`, what came in
    the base RTT before it over what the link carries in one; `response`, the time until its sender
    heard of it over the packet's own round trip, which is base RTT, wait and transmission;
    `growth`, what came in that time over what came in as much before. Of the flow whose longest
    wait in slow start is the shortest: this wait, `best_ms`, and Spearman's `best_rho` between the
    longest wait of a round trip and its number. Of one flow, else null: the share of samples
    SAMPLE_NS apart that saw no packet waiting in the last round trip that did not fill the link,
    `unseen`, and what came in it over what the link carries, `window_bdp`.
    """
    return pl.DataFrame([_row(run) for run in runs], infer_schema_length=None).sort(
        "queue", "senders", "flows", "rtt_ms"
    )


def _row(run: series.Run) -> dict[str, object]:
    queue = pub4.QUEUES[str(run.axes["experiment"])]
    packets = series.forward(run).sort("enqueue_ns").collect()
    return {
        "queue": queue,
        "senders": str(run.axes["senders"]),
        "flows": run.field("experiment.flows.0.count"),
        "rtt_ms": run.time_ns("experiment.rtt") / 1e6,
        **windows(run),
        **_first_mark(run, packets, at_the_head=queue in AT_THE_HEAD),
        **_best_flow(run, packets),
        **_samples(run),
    }


def windows(run: series.Run) -> dict[str, float | None]:
    """Medians over the flows, in a flow's share of the bandwidth-delay product: `end_share`, the
    largest window in slow start, and `after_share`, the threshold with which a flow left it."""
    share = transients.bdp_packets(run) / run.field("experiment.flows.0.count")
    acks = run.records("acks").sort("time_ns").collect()
    ends = acks.join(transients.slow_start_ends(run), on=FLOW, how="left")
    early = ends.filter(pl.col("left_ns").is_null() | (pl.col("time_ns") < pl.col("left_ns")))
    largest_windows = early.group_by(FLOW).agg(pl.col("cwnd_packets").max())["cwnd_packets"]
    thresholds = (
        acks.filter(pl.col("ssthresh_packets").is_not_null())
        .group_by(FLOW)
        .agg(pl.col("ssthresh_packets").first())["ssthresh_packets"]
    )
    end, after = scalar(largest_windows.median()), scalar(thresholds.median())
    return {
        "end_share": None if end is None else end / share,
        "after_share": None if after is None else after / share,
    }


def _first_mark(
    run: series.Run, packets: pl.DataFrame, *, at_the_head: bool
) -> dict[str, float | None]:
    marked = (
        packets.filter(series.MARKED)
        .with_columns(at_ns=pl.col("dequeue_ns" if at_the_head else "enqueue_ns"))
        .sort("at_ns")
    )
    if marked.is_empty():
        return {"load": None, "response": None, "growth": None}
    first = marked.row(0, named=True)
    at_ns = int(first["at_ns"])
    rate_bps = run.rate_bps("experiment.bottleneck.rate")
    rtt_ns = run.time_ns("experiment.rtt")
    load = _arrived(packets, at_ns - rtt_ns, at_ns) * 8e9 / (rate_bps * rtt_ns)
    heard_ns = _heard(run, first)
    if heard_ns is None:
        return {"load": load, "response": None, "growth": None}
    took_ns = heard_ns - at_ns
    wait_ns = 0 if at_the_head else first["sojourn_ns"]
    round_trip_ns = rtt_ns + wait_ns + first["size_bytes"] * 8e9 / rate_bps
    before = _arrived(packets, at_ns - took_ns, at_ns)
    return {
        "load": load,
        "response": took_ns / round_trip_ns,
        "growth": _arrived(packets, at_ns, heard_ns) / before if before else None,
    }


def _arrived(packets: pl.DataFrame, after_ns: int, to_ns: int) -> int:
    """The bytes that came after a time and not after another."""
    between = (packets["enqueue_ns"] > after_ns) & (packets["enqueue_ns"] <= to_ns)
    return int(packets.filter(between)["size_bytes"].sum())


def _heard(run: series.Run, packet: dict[str, object]) -> int | None:
    """When the sender of a packet left slow start: the ACK before the first that met a threshold,
    for the record has the state in which an ACK meets its sender."""
    own = (
        run.records("acks")
        .filter((pl.col("sport") == packet["sport"]) & (pl.col("dport") == packet["dport"]))
        .sort("time_ns")
        .collect()
    )
    heard = own.filter(pl.col("ssthresh_packets").shift(-1).is_not_null())["time_ns"]
    return int(heard[0]) if len(heard) else None


def _best_flow(run: series.Run, packets: pl.DataFrame) -> dict[str, float | None]:
    rtt_ns = run.time_ns("experiment.rtt")
    early = (
        packets.filter(pl.col("sojourn_ns").is_not_null())
        .join(transients.slow_start_ends(run), on=FLOW, how="left")
        .filter(pl.col("left_ns").is_null() | (pl.col("enqueue_ns") <= pl.col("left_ns")))
        .with_columns(since_ns=pl.col("enqueue_ns") - pl.col("enqueue_ns").min().over(FLOW))
        .with_columns(round=pl.col("since_ns") // rtt_ns)
    )
    rounds = early.group_by(*FLOW, "round").agg(peak=pl.col("sojourn_ns").max())
    flows = (
        rounds.group_by(FLOW)
        .agg(
            best_ms=pl.col("peak").max() / 1e6,
            # none where all waits are equal, or there is one round trip
            best_rho=pl.corr("round", "peak", method="spearman").fill_nan(None),
        )
        .sort("best_ms", *FLOW)
    )
    return flows.select("best_ms", "best_rho").row(0, named=True)


def _samples(run: series.Run) -> dict[str, float | None]:
    if run.field("experiment.flows.0.count") > 1:
        return {"unseen": None, "window_bdp": None}
    data = transients.rounds(run)
    bdp = transients.bdp_packets(run)
    windows = data.group_by("round").agg(window=pl.len()).sort("round")
    full = windows.filter(pl.col("window") >= bdp)["round"].min()
    # one that never fills it ends with less than it could have sent
    largest_ones = windows.sort("window", "round", descending=[False, True])
    early = largest_ones if full is None else windows.filter(pl.col("round") < full)
    last, window = early.row(-1)
    rtt_ns = run.time_ns("experiment.rtt")
    start_ns = int(data["enqueue_ns"][0]) + last * rtt_ns
    queue = series.backlog(series.forward(run)).select("time_ns", "packets")
    at = pl.DataFrame({"time_ns": range(start_ns, start_ns + rtt_ns, SAMPLE_NS)})
    seen = at.join_asof(queue, on="time_ns")["packets"].fill_null(0)
    return {"unseen": scalar((seen == 0).mean()), "window_bdp": window / bdp}


def plot(table: pl.DataFrame) -> p9.ggplot:
    """The load at the first mark above, the window with which slow start ended below, of unpaced
    senders; a panel per number of flows."""
    measures = {"load": "Load at the first mark", "end_share": "Window at the end (share of BDP)"}
    unpaced = table.filter(pl.col("senders") == "unpaced")
    shown = ensemble.measures(unpaced, measures, ["queue", "flows", "rtt_ms"]).with_columns(
        panel=transients.flow_label(unpaced, "flows")
    )
    means = ensemble.means(shown, ["queue", "measure", "panel", "rtt_ms"], "value")
    drawn: p9.ggplot = (
        p9.ggplot(means, p9.aes("rtt_ms", "value", color="queue", shape="queue", linetype="queue"))
        + p9.facet_wrap(["measure", "panel"], scales="free_y")
        + p9.geom_hline(yintercept=1, linetype="dotted", color="#666666")
        + ensemble.band(means, "queue")
        + p9.geom_line()
        + p9.geom_point(size=1.8)
        + p9.scale_x_log10()
        + p9.scale_color_manual(style.PALETTE)
        + p9.scale_fill_manual(style.PALETTE)
        + p9.scale_shape_manual(style.SHAPES)
        + p9.scale_linetype_manual([*style.LINES, *style.LINES])
        + p9.labs(x="Base RTT (ms)", y="", color="", fill="", shape="", linetype="")
    )
    return drawn


def response_off(table: pl.DataFrame, queue: str) -> Extreme | None:
    """How far the time to the response of one flow is from the packet's round trip, as a share of
    this, the largest over pacing and RTTs."""
    found = _single(table, queue, "response").with_columns(pl.col("response") - 1)
    return farthest(found, "response")


METRICS = (response_off,)


def _single(table: pl.DataFrame, queue: str, column: str) -> pl.DataFrame:
    chosen = table.filter((pl.col("queue") == queue) & (pl.col("flows") == 1))
    return chosen.select("senders", "rtt_ms", column)
