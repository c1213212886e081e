"""prague in whole flows on the lab's Linux 7.2: every ACK against the model, and the ECN fields."""

import copy
import itertools
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl
import pytest

from kmods.tcp_prague.tests.model import DEFAULTS, INFINITE, ONE, PACKET, Ack, Sender
from tests.lab.experiments import Lab, Mapped, Run, bulk, dumbbell

pytestmark = [pytest.mark.newer, pytest.mark.usefixtures("newer_kernel")]

SETTING = "net.ipv4.tcp_prague."
MTU = 1500
# Else Linux may hold a packet back to send two at once, and take the window to be filled: whether
# it did is not recorded.
SINGLE_PACKETS = {"net.ipv4.tcp_min_tso_segs": "1"}
Row = dict[str, Any]


@dataclass
class Filled:
    """Whether a flow fills its window, as Linux remembers it: tcp_cwnd_validate()."""

    limited: bool = False
    most: int = 0
    end: int = 0

    def sends(self, full: bool, out: int, acknowledged: int, sent: int) -> None:
        """Something new was sent, or could not be for want of window."""
        if acknowledged >= self.end or full or (not self.limited and out > self.most):
            self.limited, self.most, self.end = full, out, sent

    def is_so(self, sender: Sender) -> bool:
        """tcp_is_cwnd_limited(): in slow start half a window will do."""
        slow_start = sender.cwnd < sender.ssthresh
        return self.limited or (slow_start and sender.cwnd < 2 * self.most)


class Flow:
    """What was recorded of the first flow's sender."""

    def __init__(self, run: Run) -> None:
        forward = run.packets(flow=1)
        isn = forward["seq"][0]
        self.established_us = forward["enqueue_ns"][1] // 1000  # the handshake's last ACK
        self.data = forward.filter(pl.col("payload_bytes") > 0).select(
            "enqueue_ns",
            "payload_bytes",
            end=(pl.col("seq").cast(pl.Int64) - isn) % (1 << 32) + pl.col("payload_bytes"),
        )
        self.times = self.data["enqueue_ns"].to_numpy()
        self.ends = self.data["end"].to_numpy()
        self.sent = np.maximum.accumulate(self.ends)
        self.size = self.data["payload_bytes"].max()
        rows = run.table("acks").filter(pl.col("flow") == 1, pl.col("src") == "s1")
        self.rows: list[Row] = list(rows.iter_rows(named=True))

    def sent_before(self, time_ns: int) -> int:
        """The sequence number up to which all had been sent."""
        number = int(np.searchsorted(self.times, time_ns))
        return int(self.sent[number - 1]) if number else 1

    def in_flight(self, time_ns: int, after: Row) -> int:
        """Packets in flight after the ACK at that time; `after` is what the next one finds."""
        sent = np.searchsorted(self.times, [time_ns, after["time_ns"]])
        return int(after["inflight_packets"]) - int(sent[1] - sent[0])

    def bursts(self, begin_ns: int, end_ns: int) -> Iterator[tuple[int, int, bool, int]]:
        """What was sent from one time on until another: when, packets, whether new, up to where."""
        first, last = np.searchsorted(self.times, [begin_ns, end_ns])
        for time_ns, group in itertools.groupby(range(first, last), self.times.__getitem__):
            numbers = list(group)
            before = self.sent[numbers[0] - 1] if numbers[0] else 1
            sent = int(self.sent[numbers[-1]])
            yield int(time_ns), len(numbers), sent > before, sent


def watch(filled: Filled, flow: Flow, begin_ns: int, after: Row, cwnd: int) -> None:
    """What was sent between two ACKs, the later one of which finds `after`."""
    bursts = list(flow.bursts(begin_ns, after["time_ns"]))
    in_flight = flow.in_flight(begin_ns, after)
    acknowledged = after["bytes_acked"]
    sent = flow.sent_before(begin_ns)
    if not bursts or bursts[0][0] > begin_ns:
        bursts.insert(0, (begin_ns, 0, False, sent))
    for _, count, new, sent in bursts:
        in_flight += count
        if new or in_flight >= cwnd:
            out = -(-(sent - acknowledged) // flow.size)
            filled.sends(in_flight >= cwnd, out, acknowledged, sent)


def threshold(row: Row) -> int:
    """The slow-start threshold, which rises by an undone loss alone."""
    found = row["ssthresh_packets"]
    return INFINITE if found is None else int(found)


def by_reordering_timer(sender: Sender, ack: Ack, after: Row, flow: Flow) -> Sender | None:
    """The sender, should not this ACK but RACK's timer have begun Recovery, before the next one.

    What is recorded does not tell these two apart.
    """
    if not sender.begins_recovery(ack):
        return None
    other = copy.deepcopy(sender)
    other.ack(replace(ack, state=sender.stays(ack.acknowledged)))
    other.reordering_timeout(after["time_ns"] // 1000, flow.sent_before(after["time_ns"]))
    return other


def follow(run: Run, settings: dict[str, int]) -> Sender:
    """Predict what each ACK finds; fails at the first that finds something else."""
    flow = Flow(run)
    sender = Sender(flow.established_us, DEFAULTS | settings)
    filled = Filled()
    rows = flow.rows
    watch(filled, flow, 0, rows[0], sender.cwnd)
    for row, after in itertools.pairwise(rows):
        timed_out = after["ca_state"] == "Loss" != row["ca_state"]
        ack = Ack(
            us=row["time_ns"] // 1000,
            delivered=after["delivered_packets"],
            marked=after["delivered_ce_packets"],
            acknowledged=after["bytes_acked"],
            sent=flow.sent_before(row["time_ns"]),
            srtt_us=after["srtt_us"],
            state=sender.stays(after["bytes_acked"]) if timed_out else after["ca_state"],
            limited=filled.is_so(sender),
            undone=not timed_out and threshold(after) > threshold(row),
        )
        waited = by_reordering_timer(sender, ack, after, flow)
        sender.ack(ack)
        if timed_out:
            us = after["time_ns"] // 1000
            sender.timeout(us, after["bytes_acked"], after["cwnd_packets"])
        found = (
            after["cwnd_packets"],
            threshold(after),
            round(after["window_packets"] * PACKET),
            round(after["alpha"] * ONE),
            int(after["rounds"]),
        )
        if waited is not None and waited.shown == found:
            sender = waited
        assert found == sender.shown, (row, after, ack)
        watch(filled, flow, row["time_ns"], after, sender.cwnd)
        if not (timed_out or sender is waited):  # which leave the pacing rate as it was
            packets = max(sender.cwnd, flow.in_flight(row["time_ns"], after))
            doubled = sender.cwnd < sender.ssthresh // 2
            rate = packets * MTU * 10**6 * (1 + doubled) // ack.srtt_us
            assert after["pacing_rate_bytes_s"] == rate, (row, after, ack)
    return sender


def dualpi2(rate: str = "40mbit", rtt: str = "10ms", duration: str = "5s") -> Mapped:
    return {"queue": {"kind": "dualpi2"}, "rate": rate, "rtt": rtt, "duration": duration}


# Name: settings, the experiment but for the flow, and states that the flow must come through.
RUNS: dict[str, tuple[dict[str, int], Mapped, set[str]]] = {
    "marks, beside CUBIC": ({}, dualpi2(duration="10s") | {"beside": True}, {"Open", "CWR"}),
    "marks, RTT independence from the start": (
        {"transition": 0},
        dualpi2(rtt="5ms"),
        {"Open", "CWR"},
    ),
    "marks, srtt + 25 ms, alpha 0 at the start": (
        {"transition": 4, "rtt_mode": 2, "alpha_start": 0},
        dualpi2(),
        {"Open", "CWR"},
    ),
    "random marks": (
        {},
        {"queue": {"kind": "netem", "limit": 1000, "loss": "5%", "ecn": True}},
        {"Open", "CWR"},
    ),
    "marks by a step": (
        {},
        {
            "queue": {"kind": "codel", "limit": 1000, "target": "1s", "interval": "2s"}
            | {"ce_threshold": "5ms", "ecn": True}
        },
        {"Open", "CWR"},
    ),
    "marks and losses, with credit": (
        {"transition": 4, "loss_credit": 1},
        dualpi2("10mbit", "20ms") | {"links": {"d1-r2": {"loss": "1%"}}},
        {"Open", "CWR", "Recovery"},
    ),
    "marks and losses, as CUBIC, with about all credit": (
        {"loss_percent": 70, "loss_credit": 2},
        dualpi2("10mbit", "20ms") | {"links": {"d1-r2": {"loss": "1%"}}},
        {"Open", "CWR", "Recovery"},
    ),
    "losses in a short queue": (
        {},
        {"queue": {"kind": "pfifo", "limit": 15}},
        {"Open", "Disorder", "Recovery"},
    ),
    "random losses": (
        {},
        {"queue": {"kind": "netem", "limit": 1000, "loss": "1%"}},
        {"Open", "Disorder", "Recovery"},
    ),
    "many random losses, with timeouts": (
        {"transition": 4},
        {"queue": {"kind": "netem", "limit": 1000, "loss": "3%"}, "rate": "40mbit"}
        | {"rtt": "10ms", "duration": "20s"},
        {"Open", "Disorder", "Recovery", "Loss"},
    ),
    "marks and reordering": (
        {},
        dualpi2()
        | {"links": {"r2-d1": {"delay": "2ms", "jitter": "1ms", "reverse": {"jitter": "0s"}}}},
        {"Open", "CWR", "Disorder"},
    ),
}


@pytest.mark.lab
@pytest.mark.parametrize("name", RUNS)
def test_every_ack_finds_what_the_model_foresees(lab: Lab, name: str) -> None:
    settings, network, states = RUNS[name]
    network = dict(network)
    flows = [bulk(cc="prague", ecn=True)]
    if network.pop("beside", False):
        flows.append(bulk("s2", "d2", cc="cubic"))
    sysctls = SINGLE_PACKETS | {SETTING + key: str(value) for key, value in settings.items()}
    network |= {"pairs": len(flows), "hosts": {"s1": {"sysctls": sysctls}}}
    run = lab(dumbbell(*flows, **network))
    follow(run, settings)
    acks = run.table("acks").filter(pl.col("flow") == 1, pl.col("src") == "s1")
    assert set(acks["ca_state"].unique()) >= states
    assert len(acks) > 1000


SYN, FIN, ACK = 0x02, 0x01, 0x10
FLAGS = 33  # where they are after a header of IPv4


def kinds(run: Run) -> pl.DataFrame:
    """Each packet of the flow at the bottleneck, with its kind and its ECN field there."""
    table = run.table("packets").with_columns(run.table("headers")["header"])
    flags = pl.col("header").bin.slice(FLAGS, 1).bin.reinterpret(dtype=pl.UInt8)
    end = pl.col("seq").cast(pl.Int64) + pl.col("payload_bytes")
    return (
        table.filter(pl.col("flow") == 1)
        .with_columns(flags=flags, again=end <= end.cum_max().shift(1).over("direction"))
        .select(
            "direction",
            "ecn_out",
            kind=pl.when(pl.col("flags") & SYN > 0)
            .then(pl.lit("SYN"))
            .when(pl.col("flags") & FIN > 0)
            .then(pl.lit("FIN"))
            .when(pl.col("payload_bytes") == 0)
            .then(pl.lit("ACK"))
            .when(pl.col("again"))
            .then(pl.lit("retransmission"))
            .otherwise(pl.lit("data")),
        )
    )


@pytest.mark.lab
def test_every_packet_is_ect_1_or_marked(lab: Lab) -> None:
    """SYN, SYN-ACK, data, what is sent again, pure ACKs and FIN, at the bottleneck."""
    network = dualpi2(duration="8s") | {"links": {"r2-d1": {"loss": "1%"}}}
    flow = bulk(cc="prague", ecn=True, size="2MB")
    run = lab(dumbbell(flow, **network, record=["packets", "headers"]))
    found = kinds(run).unique().sort("direction", "kind", "ecn_out").rows()
    assert set(found) == {
        ("forward", 1, "SYN"),
        ("forward", 1, "ACK"),
        ("forward", 1, "data"),
        ("forward", 3, "data"),
        ("forward", 1, "retransmission"),
        ("forward", 1, "FIN"),
        ("reverse", 1, "SYN"),
        ("reverse", 1, "ACK"),
        ("reverse", 1, "FIN"),
    }
