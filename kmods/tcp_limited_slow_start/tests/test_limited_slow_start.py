"""limited_reno: RFC 3742's arithmetic, windows segment by segment, and whole flows in the lab."""

import ctypes
import itertools
from dataclasses import dataclass
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kmods.tcp_abe.tests.test_segments import CONNECTIONS, SCENARIOS
from kmods.tcp_dctcp_inet.tests.test_dctcp_inet import random_steps
from sandglass.errors import SandglassError
from tests.kmods.segments import (
    NO_PROBES,
    PROBED,
    START,
    Step,
    Trace,
    ack,
    played,
    sysctl,
    wait,
)
from tests.kmods.userspace import compiled
from tests.lab.experiments import Lab, Mapped, Run, bulk, dumbbell

MAX_SSTHRESH = "net.ipv4.tcp_limited_slow_start.max_ssthresh"
NOT_LIMITED = 2**31 - 1

# --- Arithmetic -----------------------------------------------------------------------------------

sizes = st.integers(1, 65535)
windows = st.integers(1, 2**32 - 1)
limits = st.integers(1, NOT_LIMITED)


def rfc_growth(cwnd: int, max_ssthresh: int, mss: int) -> int:
    """What an ACK adds, as RFC 3742 has it, in bytes."""
    if cwnd <= max_ssthresh:
        return mss
    k = cwnd * 2 // max_ssthresh
    return mss // k


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    directory = tmp_path_factory.mktemp("arithmetic")
    loaded = compiled("arithmetic", "tcp_limited_slow_start", directory)
    loaded.limited_slow_start.argtypes = [ctypes.c_uint64, ctypes.c_uint64, ctypes.c_uint32]
    loaded.limited_slow_start.restype = ctypes.c_uint32
    return loaded


@given(cwnd=windows, rest=sizes, limit=limits, mss=sizes)
def test_growth_is_the_rfcs(
    library: ctypes.CDLL, cwnd: int, rest: int, limit: int, mss: int
) -> None:
    window, max_ssthresh = cwnd * mss + rest, limit * mss
    found = library.limited_slow_start(window, max_ssthresh, mss)
    assert found == rfc_growth(window, max_ssthresh, mss)


@given(limit=st.integers(2, 1000), above=st.integers(1, 20_000))
def test_a_round_trip_adds_half_to_three_quarters_of_max_ssthresh(
    library: ctypes.CDLL, limit: int, above: int
) -> None:
    """But for the parts of a byte that each ACK loses: less than one of 1448 and a window."""
    mss = 1448
    cwnd = limit + above
    grown = library.limited_slow_start(cwnd * mss, limit * mss, mss) * cwnd
    assert limit / 2 * mss - cwnd <= grown <= limit * 3 / 4 * mss


# --- Segments -------------------------------------------------------------------------------------

# Or Linux takes back what the timer did when segments arrive that were not sent again.
NO_UNDO = sysctl("net.ipv4.tcp_frto", 0)
# Limit, what follows START, and the window after each ACK of it. START's ten ACKs find 10.
LIMITED: dict[str, tuple[int, list[Step], list[int]]] = {
    # 11, 12, 13; K = 2 from there: seven halves more make 16.5 of it. K = 3 from 18 on, where three
    # thirds of 1000 bytes, each rounded down, lack a byte of a segment.
    "halves, then thirds": (12, [ack(n) for n in range(11, 18)], [17, 17, 18, 18, 18, 18, 19]),
    "an ACK of several segments": (12, [ack(17)], [19]),
    "at max_ssthresh": (20, [ack(11), ack(12), ack(13)], [21, 21, 22]),
    # K = 11: ten ACKs make 11.9. It is 1.0 after the timer, not 1.9, and grows by a segment up to
    # 2, then by thirds, less a byte in three, and quarters until it is 5, half of what it was.
    "a timeout leaves whole segments": (
        2,
        [NO_UNDO, *[ack(n) for n in range(11, 21)], wait(400), *[ack(n) for n in range(21, 30)]],
        [*[11] * 10, 1, 2, 3, 3, 3, 3, 4, 4, 4, 5],
    ),
}
SEEDS = range(40)
REFUSED = (0, -1, 2**31, "text", "1e1")


def script(steps: list[Step], cc: str, limit: int | None = None, **other: Any) -> dict[str, Any]:
    """A script for player.py; probes are off but where the steps are about them."""
    general = {} if steps[: len(PROBED)] == PROBED else NO_PROBES
    own = {} if limit is None else {MAX_SSTHRESH: limit}
    return {
        "cc": cc,
        "ecn": True,
        "timestamps": False,
        "steps": steps,
        **other,
        "sysctls": other.get("sysctls", general) | own,
    }


def all_scripts() -> dict[str, dict[str, Any]]:
    scripts = {
        name: script([*START, *steps], "limited_reno", limit)
        for name, (limit, steps, _) in LIMITED.items()
    }
    for cc in ("limited_reno", "reno"):
        for name, (steps, _) in SCENARIOS.items():
            # windows of up to 30, and the default is 100
            scripts[f"{name}: {cc}"] = script(steps, cc, **CONNECTIONS.get(name, {}))
        for seed in SEEDS:
            steps = random_steps(seed, marks=True)
            scripts[f"random {seed}: {cc}"] = script(steps, cc, NOT_LIMITED)
    refused = [sysctl(MAX_SSTHRESH, value) for value in REFUSED]
    scripts["refused"] = script(refused, "reno")
    return scripts


@pytest.fixture(scope="module")
def traces(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Trace]:
    return played(all_scripts(), tmp_path_factory.mktemp("segments"))


@pytest.mark.parametrize("name", LIMITED)
def test_each_segment_adds_what_it_should(traces: dict[str, Trace], name: str) -> None:
    expected = LIMITED[name][2]
    assert [entry["cwnd"] for entry in traces[name][-len(expected) :]] == expected


@pytest.mark.parametrize("name", [*SCENARIOS, *(f"random {seed}" for seed in SEEDS)])
def test_up_to_max_ssthresh_it_is_reno(traces: dict[str, Trace], name: str) -> None:
    assert traces[f"{name}: limited_reno"] == traces[f"{name}: reno"]


def test_settings_out_of_range_are_refused(traces: dict[str, Trace]) -> None:
    assert [entry["refused"] for entry in traces["refused"]] == ["EINVAL"] * len(REFUSED)


# --- The lab --------------------------------------------------------------------------------------

SEGMENT_BYTES = 1448
NETWORKS: dict[str, Mapped] = {
    "a short queue": {"queue": {"kind": "pfifo", "limit": 15}},
    "random loss": {"queue": {"kind": "netem", "limit": 1000, "loss": "1%"}},
    "marks": {"queue": {"kind": "codel", "limit": 1000, "ecn": True}},
}


@dataclass
class Sender:
    """RFC 3742's slow start, in bytes."""

    max_ssthresh: int
    cwnd: int = 10 * SEGMENT_BYTES

    def ack(self) -> None:
        """An ACK of one segment."""
        self.cwnd += rfc_growth(self.cwnd, self.max_ssthresh, SEGMENT_BYTES)


def started(lab: Lab, limits: dict[str, int]) -> Run:
    """Flows of some hosts that nothing ends slow start of, each with its own limit."""
    flows = [bulk(host, f"d{host[1:]}", cc="limited_reno") for host in limits]
    hosts: Mapped = {host: {"sysctls": {MAX_SSTHRESH: limits[host]}} for host in limits}
    for host in limits:
        hosts[f"d{host[1:]}"] = {"sysctls": {"net.ipv4.tcp_rmem": "4096 33554432 33554432"}}
    keys = {"pairs": len(limits), "hosts": hosts, "duration": "3s", "rate": "50mbit"}
    return lab(dumbbell(*flows, queue={"kind": "pfifo", "limit": 100_000}, **keys))


@pytest.mark.lab
def test_whole_flows_follow_the_rfc_each_with_its_hosts_limit(lab: Lab) -> None:
    limits = {"s1": 41, "s2": 200}
    acks = started(lab, limits).table("acks")
    for host, limit in limits.items():
        sender = Sender(limit * SEGMENT_BYTES)
        rows = acks.filter(pl.col("src") == host, pl.col("flow") > 0)
        for row, after in itertools.pairwise(rows.iter_rows(named=True)):
            for _ in range(after["delivered_packets"] - row["delivered_packets"]):
                sender.ack()
            assert after["cwnd_packets"] == sender.cwnd // SEGMENT_BYTES, after
        assert sender.cwnd > 2 * sender.max_ssthresh


@pytest.mark.lab
@pytest.mark.parametrize("network", NETWORKS)
def test_where_it_is_not_limited_it_sends_renos_packets(lab: Lab, network: str) -> None:
    def run(cc: str) -> Run:
        hosts = {"s1": {"sysctls": {MAX_SSTHRESH: NOT_LIMITED}}}
        ecn = bool(NETWORKS[network]["queue"].get("ecn"))
        return lab(dumbbell(bulk(cc=cc, ecn=ecn), **NETWORKS[network], hosts=hosts))

    ours, reno = run("limited_reno"), run("reno")
    for name in ("packets", "acks", "queues", "flows"):
        tables = [each.table(name).drop("cc", strict=False) for each in (ours, reno)]
        assert tables[0].equals(tables[1]), name


@pytest.mark.lab
def test_a_setting_out_of_range_ends_the_run(lab: Lab) -> None:
    hosts = {"s1": {"sysctls": {MAX_SSTHRESH: "0"}}}
    queue = {"kind": "pfifo", "limit": 100}
    with pytest.raises(SandglassError, match=f"{MAX_SSTHRESH} on host s1 refuses 0") as failure:
        lab(dumbbell(bulk(cc="limited_reno"), queue=queue, hosts=hosts))
    assert "1 to 2147483647" in str(failure.value.hint)
