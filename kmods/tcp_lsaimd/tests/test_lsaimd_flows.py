"""Whole flows of LS-AIMD where the thesis did not look, and below a segment."""

import math

import polars as pl
import pytest

from sandglass.install import builds
from tests.lab.experiments import Lab, Mapped, Run, bulk, dumbbell

pytestmark = pytest.mark.lab

OURS = ("lsaimd_reno", "lsaimd_dctcp")
SMSS, K0, K1 = 1448, 256, 512
LOSSY = {"kind": "netem", "limit": 1000, "loss": "1%"}
# At these constants Reno's increase, a segment per round trip, is that of a window of 6 segments.
LIKE_RENO = {"net.ipv4.tcp_lsaimd.k0": "331 1024"}
NETWORKS: dict[str, Mapped] = {
    "no losses, no ECN": {"queue": {"kind": "pfifo", "limit": 100}, "rate": "20mbit"},
    "drops of an AQM": {"queue": {"kind": "codel"}, "rate": "20mbit"},
    "a small receiver's window": {
        "queue": {"kind": "pfifo", "limit": 1000},
        "rate": "20mbit",
        "hosts": {"d1": {"sysctls": {"net.ipv4.tcp_rmem": "4096 32768 32768"}}},
    },
    "a fast path": {
        "queue": {"kind": "pfifo", "limit": 2000},
        "rate": "1gbit",
        "rtt": "10ms",
        "duration": "3s",
    },
}


def flow(lab: Lab, cc: str, network: Mapped, sysctls: Mapped | None = None) -> Run:
    hosts = dict(network.get("hosts", {}))
    if sysctls and cc in OURS:
        hosts["s1"] = {"sysctls": sysctls}
    ecn = cc == "lsaimd_dctcp"
    return lab(dumbbell(bulk(cc=cc, ecn=ecn), **network | {"hosts": hosts}))


def mbit_s(run: Run) -> float:
    (result,) = run.content["flows"]
    return float(result["bytes"] * 8e-6)


def longest_silence_s(run: Run) -> float:
    """Between two ACKs."""
    return float(run.table("acks")["time_ns"].diff().drop_nulls().to_numpy().max() / 1e9)


@pytest.mark.parametrize("cc", OURS)
@pytest.mark.parametrize("network", NETWORKS)
def test_no_stall_and_no_less_than_reno(lab: Lab, network: str, cc: str) -> None:
    keys: Mapped = {"duration": "20s"} | NETWORKS[network]
    reno, ours = flow(lab, "reno", keys), flow(lab, cc, keys)
    assert mbit_s(ours) >= 0.9 * mbit_s(reno)
    assert longest_silence_s(ours) < 0.3


@pytest.mark.parametrize("cc", OURS)
def test_losses_at_random(lab: Lab, cc: str) -> None:
    """As Reno where the increase is Reno's; with the thesis's, by the root of what it is less."""
    keys: Mapped = {"queue": LOSSY, "rate": "100mbit", "rtt": "40ms", "duration": "60s"}
    reno = flow(lab, "reno", keys)
    alike = flow(lab, cc, keys, LIKE_RENO)
    stated = flow(lab, cc, keys)
    window = reno.table("acks")["cwnd_packets"].mean()
    assert isinstance(window, float)
    assert window > 4
    assert mbit_s(alike) >= 0.9 * mbit_s(reno)
    increase = K0 * math.log2(window / 2 * SMSS / K1 + 1)
    assert mbit_s(stated) >= 0.9 * math.sqrt(increase / SMSS) * mbit_s(reno)
    assert longest_silence_s(stated) < 1
    assert stated.content["flows"][0]["retransmits"] > 50


@pytest.mark.parametrize("cc", OURS)
def test_reordering(lab: Lab, cc: str) -> None:
    """A packet in twenty is late by 10 ms."""
    queue = {"kind": "netem", "limit": 1000, "delay": "10ms", "reorder": "95%"}
    reverse = {"queue": {"kind": "pfifo", "limit": 1000}}
    keys: Mapped = {"queue": queue, "reverse": reverse, "rate": "20mbit", "duration": "20s"}
    reno, ours = flow(lab, "reno", keys), flow(lab, cc, keys)
    # On the debug lab a packet takes more memory: 0.89 there.
    least = 0.85 if builds.is_debug(builds.chosen_kernel()) else 0.9
    assert mbit_s(ours) >= least * mbit_s(reno)
    assert longest_silence_s(ours) < 0.3


def sixteen(lab: Lab, cc: str, sysctls: Mapped, delayed_ack: bool = False) -> Run:
    """The thesis's experiment 4E, shortened: four segments fill the path."""
    hosts: Mapped = {f"s{n}": {"mtu": 9000, "sysctls": sysctls} for n in range(1, 17)}
    hosts |= {f"d{n}": {"mtu": 9000, "delayed_ack": delayed_ack} for n in range(1, 17)}
    flows = [bulk(f"s{n}", f"d{n}", cc=cc, ecn=True, start=f"{n * 100}ms") for n in range(1, 17)]
    queue: Mapped = {
        **{"kind": "red", "limit": "200ms", "min": "250us", "max": "750us", "probability": 0.1},
        **{"burst": 31, "avpkt": 9014, "bandwidth": "600mbit"},
        **{"ecn": True, "adaptive": True, "nodrop": True},
    }
    if cc == "lsaimd_dctcp":
        queue = {"kind": "dualred", "rate": "600mbit", "bytes": True, "mark_min": 18750}
        queue |= {"drop_min": 15_000_000, "limit": 1664}
    return lab(
        dumbbell(
            *flows, queue=queue, reverse={"queue": {"kind": "pfifo", "limit": 1000}},
            rate="600mbit", rtt="250us", pairs=16, hosts=hosts, duration="6s",
        )
    )  # fmt: skip


@pytest.mark.parametrize(("cc", "c"), [("lsaimd_reno", 1), ("lsaimd_dctcp", 1), ("reno", None)])
def test_sixteen_flows_share_four_segments(lab: Lab, cc: str, c: int | None) -> None:
    """LS-AIMD keeps less than a segment on its way.

    And the ACK clock: no timeout, no retransmission. Reno keeps two.
    """
    run = sixteen(lab, cc, {} if c is None else {"net.ipv4.tcp_lsaimd.c": c})
    assert [flow["rtos"] + flow["retransmits"] for flow in run.content["flows"]] == [0] * 16
    late = run.packets().filter(pl.col("enqueue_ns") > 3e9)
    queued_us = late["sojourn_ns"].drop_nulls().to_numpy().mean() / 1e3
    acks = run.table("acks").filter(pl.col("time_ns") > 3e9)
    if cc == "reno":
        assert queued_us == pytest.approx(3475, rel=0.01)  # 32 segments of 120 us, less the RTT
        return
    # Little's law: what is on its way is the rate times the time that it takes.
    srtt_s = acks["srtt_us"].to_numpy().mean() / 1e6
    on_its_way = late.height / 3 * srtt_s / 16
    assert 0.1 < on_its_way < 1
    assert queued_us < 500
    assert acks["window_bytes"].to_numpy().mean() < 8948


def test_bursts_of_sixteen_flows(lab: Lab) -> None:
    """With receivers that delay ACKs: four segments leave at once, from a window below a segment.

    Fewer do after a mark, which a receiver of RFC 3168 answers segment by segment, so that the last
    one of the burst is alone and waits for the next burst to be answered.
    """
    run = sixteen(
        lab,
        "lsaimd_reno",
        {"net.ipv4.tcp_lsaimd.c": 1, "net.ipv4.tcp_lsaimd.burst": 4},
        delayed_ack=True,
    )
    assert [flow["rtos"] + flow["retransmits"] for flow in run.content["flows"]] == [0] * 16
    late = run.packets().filter((pl.col("enqueue_ns") > 3e9) & (pl.col("payload_bytes") > 0))
    bursts = late.group_by("flow", "enqueue_ns").len()["len"].to_numpy()
    assert bursts.max() == 4
    assert (bursts == 4).mean() > 0.75
    acks = run.table("acks").filter(pl.col("time_ns") > 3e9)
    assert acks["window_bytes"].to_numpy().mean() < 8948
