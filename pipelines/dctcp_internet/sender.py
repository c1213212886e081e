"""Sections II-B to III-B: what senders do with each ACK, and how receivers tell of marks."""

import math
import re
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import plotnine as p9
import polars as pl

from sandglass.papers import ensemble
from sandglass.papers.verdicts import scalar
from sandglass.results import series, style

SETTLED_NS = 5 * 10**9
"""Slow start is over; what comes before is not counted."""
SAMPLE = re.compile(r"bytes_acked:(\d+).*?dctcp:\(ce_state:\d+,alpha:(\d+),")
"""Of a line of ss(8)."""
SS_BITS = 30
"""ss(8) tells alpha of dctcp_inet in 2^-30."""
NAMES = {
    "echoed": "Echoed packets per marked one",
    "spacing": "Least time between reductions (RTT)",
    "gained": "Growth in CWR (packets per RTT)",
    "stale": "Spread of log alpha over marks",
}


class Alpha(NamedTuple):
    """How a sender of ours computes alpha."""

    per_ack: bool
    bits: int
    shift: int


class Path(NamedTuple):
    """A sender's state before each ACK, in its order, and one after the last; counts of packets and
    bytes are from the first ACK on."""

    time_ns: list[int]
    acked: list[int]
    """Bytes."""
    sent: list[int]
    """Bytes that were sent until then."""
    delivered: list[int]
    marked: list[int]
    """Of these, by ACKs with ECN-Echo."""
    cwnd: list[int]
    ssthresh: list[int | None]
    cwr: list[bool]
    rtt_ns: list[int]


def table(runs: Sequence[series.Run]) -> pl.DataFrame:
    """One row per `sender`, `marks` (step or slope) and `seed`.

    `echoed`: packets that ACKs with ECN-Echo delivered, for each that was marked. `spacing`: the
    least time between two reductions, in least RTTs. `gained`: packets that the window grows by in
    an RTT of CWR after its last reduction. Of dctcp_inet alone, null for others: `equation1`, the
    largest distance of a reduced window from (1 - alpha/2) of that before, in packets;
    `equation2`, the largest difference between alpha as ss(8) tells it and equation (2);
    `stale`, the standard deviation of log(alpha / share of marks in the RTT around) at reductions.
    """
    return pl.DataFrame([_row(run) for run in runs], infer_schema_length=None).sort(
        "sender", "marks", "seed"
    )


def _row(run: series.Run) -> dict[str, object]:
    path = path_of(run)
    setting = alpha_of(run)
    row: dict[str, object] = {
        "sender": str(run.axes["sender"]),
        "marks": str(run.axes["marks"]),
        "seed": int(run.field("seed")),
        "echoed": path.marked[-1] / _marked(run),
        "spacing": spacing(path),
        "gained": gained(path),
        "equation1": None,
        "equation2": None,
        "stale": None,
    }
    if setting is not None:
        alpha = alphas(path, setting)
        text = (run.directory / "command-2.txt").read_text()
        row |= {
            "equation1": equation1(path, alpha),
            "equation2": equation2(path, alpha, text),
            "stale": stale(path, alpha),
        }
    return row


def path_of(run: series.Run) -> Path:
    """What the records have of the first flow's sender."""
    acks = run.records("acks").filter(pl.col("flow") == 1).sort("time_ns").collect()
    packets = (
        series.forward(run)
        .filter(pl.col("flow") == 1, pl.col("payload_bytes") > 0)
        .sort("enqueue_ns", maintain_order=True)
        .select("enqueue_ns", "payload_bytes", seq=pl.col("seq").cast(pl.Int64))
        .collect()
    )
    # sequence numbers may wrap
    ends = ((packets["seq"] - packets["seq"][0]) % 2**32 + packets["payload_bytes"]).cum_max()
    until = np.searchsorted(packets["enqueue_ns"].to_numpy(), acks["time_ns"].to_numpy())
    sent = np.concatenate([[0], ends.to_numpy()])[until]

    def since(column: str) -> list[int]:
        counts = acks[column].cast(pl.Int64)
        found: list[int] = (counts - counts[0]).to_list()
        return found

    return Path(
        acks["time_ns"].to_list(),
        since("bytes_acked"),
        sent.tolist(),
        since("delivered_packets"),
        since("delivered_ce_packets"),
        acks["cwnd_packets"].to_list(),
        acks["ssthresh_packets"].to_list(),
        (acks["ca_state"] == "CWR").to_list(),
        (acks["srtt_us"].cast(pl.Int64) * 1000).to_list(),
    )


def _marked(run: series.Run) -> int:
    """Packets of the first flow that left the queue with a mark."""
    marked = (pl.col("flow") == 1) & (pl.col("ecn_out") == 3) & pl.col("dequeue_ns").is_not_null()
    return int(series.forward(run).filter(marked).select(pl.len()).collect().item())


def alpha_of(run: series.Run) -> Alpha | None:
    """How the first flow's sender computes alpha; None of what is not dctcp_inet."""
    if run.field("flows.0.cc") != "dctcp_inet":
        return None
    prefix = "net.ipv4.tcp_dctcp_inet."
    given = run.field("experiment.hosts.s1").get("sysctls") or {}
    per_ack, bits, shift = (
        int(given.get(prefix + name, default))
        for name, default in (("alpha_per_ack", 1), ("alpha_bits", 20), ("shift_g", 8))
    )
    return Alpha(bool(per_ack), bits, shift)


def alphas(path: Path, setting: Alpha) -> list[float]:
    """alpha after each ACK by equation (2), from 0, both terms rounded down to its resolution."""
    units = delivered = marked = window_end = 0
    found = []
    for ack in range(len(path.acked) - 1):
        if setting.per_ack or path.acked[ack + 1] >= window_end:
            if more := path.delivered[ack + 1] - delivered:
                share = (min(path.marked[ack + 1] - marked, more) << setting.bits) // more
                units += (share >> setting.shift) - (units >> setting.shift)
            delivered, marked = path.delivered[ack + 1], path.marked[ack + 1]
            window_end = path.sent[ack]
        found.append(units / 2**setting.bits)
    return found


def reductions(path: Path) -> list[tuple[int, int]]:
    """Each ACK that took something from the window in CWR, and the window that CWR began with."""
    found = []
    before = high = 0
    for ack in range(len(path.acked) - 1):
        begins = path.cwr[ack + 1] and (not path.cwr[ack] or path.acked[ack + 1] > high)
        if begins:
            before, high = path.cwnd[ack], path.sent[ack]
        if path.cwr[ack + 1] and path.cwnd[ack + 1] < path.cwnd[ack]:
            found.append((ack, before))
    return found


def equation1(path: Path, alpha: Sequence[float]) -> float | None:
    """The largest distance of a reduced window from (1 - alpha/2) of the one before, in packets."""
    return max(
        (
            abs(path.cwnd[ack + 1] - (1 - alpha[ack] / 2) * before)
            for ack, before in reductions(path)
        ),
        default=None,
    )


def equation2(path: Path, alpha: Sequence[float], text: str) -> float | None:
    """The largest difference between alpha as ss(8) told it and equation (2)."""
    at = {acked: ack for ack, acked in enumerate(path.acked)}
    differences = []
    for line in text.splitlines():
        if told := SAMPLE.search(line):
            # ss counts the SYN
            ack = at.get(int(told[1]) - 1, 0)
            if 0 < ack <= len(alpha):
                differences.append(abs(int(told[2]) / 2**SS_BITS - alpha[ack - 1]))
    return max(differences, default=None)


def spacing(path: Path) -> float | None:
    """The least time between two reductions of the window or the threshold, in least RTTs."""
    least = min(path.rtt_ns)
    when = [
        path.time_ns[ack]
        for ack, (one, other) in enumerate(pairwise(path.ssthresh))
        if other is not None and (one is None or other != one)
    ]
    return min((other - one for one, other in pairwise(when)), default=math.nan) / least


def gained(path: Path) -> float | None:
    """How much the window has grown at the end of a spell of CWR since its last reduction, packets
    per RTT since then; over all spells."""
    packets = rtts = 0.0
    since: int | None = None
    high = 0
    for ack in range(len(path.acked) - 1):
        if since is not None:
            if path.ssthresh[ack] != path.ssthresh[ack - 1]:
                since = ack
            if not path.cwr[ack + 1] or path.acked[ack + 1] > high:
                left = path.ssthresh[ack]
                if left is not None and path.time_ns[since] >= SETTLED_NS:
                    packets += path.cwnd[ack + 1] - left
                    rtts += (path.time_ns[ack] - path.time_ns[since]) / path.rtt_ns[since]
                since = None
        if since is None and path.cwr[ack + 1]:
            since, high = ack + 1, path.sent[ack]
    return packets / rtts if rtts else None


def stale(path: Path, alpha: Sequence[float]) -> float | None:
    """The standard deviation of log(alpha / share of marks in the RTT around), at reductions."""
    times = np.array(path.time_ns)
    logs = []
    for ack, _ in reductions(path):
        if times[ack] < SETTLED_NS:
            continue
        half = path.rtt_ns[ack] // 2
        ends = np.searchsorted(times, [times[ack] - half, times[ack] + half])
        low, high = (min(int(end), len(times) - 1) for end in ends)
        marked = path.marked[high] - path.marked[low]
        if marked and alpha[ack]:
            share = marked / (path.delivered[high] - path.delivered[low])
            logs.append(math.log(alpha[ack] / share))
    return scalar(pl.Series(logs, dtype=pl.Float64).std())


def plot(table: pl.DataFrame) -> p9.ggplot:
    """What is not an equation, per sender and marks; of seeds the mean with its interval."""
    shown = ensemble.measure_means(table, NAMES, ["sender", "marks"])
    beside = p9.position_dodge(width=0.9)
    drawn: p9.ggplot = (
        p9.ggplot(shown, p9.aes("sender", "value", fill="marks"))
        + p9.facet_wrap("measure", scales="free_x", ncol=2)
        + p9.geom_col(position=beside)
        + p9.geom_errorbar(
            p9.aes(ymin="low", ymax="high", group="marks"),
            shown.drop_nulls("low"),
            position=beside,
            width=0.2,
        )
        + p9.coord_flip()
        + p9.scale_fill_manual(style.PALETTE)
        + p9.labs(x="", y="", fill="")
    )
    return drawn


def of(table: pl.DataFrame, sender: str, marks: str, measure: str) -> list[float]:
    """A measure of one sender with one kind of marks, of each seed."""
    found: list[float] = table.filter(sender=sender, marks=marks)[measure].drop_nulls().to_list()
    return found


def stale_over(table: pl.DataFrame, sender: str, than: str, marks: str) -> list[float]:
    """How far alpha is from the marks at reductions: one sender's spread over another's, of each
    seed that both have."""
    one, other = (
        table.filter(sender=name, marks=marks).select("seed", "stale") for name in (sender, than)
    )
    both = one.join(other, on="seed", suffix="_than").sort("seed")
    found: list[float] = (both["stale"] / both["stale_than"]).drop_nulls().to_list()
    return found


METRICS = (of, stale_over)
