"""Networks as large as docs/limits.md promises."""

from pathlib import Path

import polars as pl
import pytest

from tests.lab.experiments import Mapped, bulk, flow, run

pytestmark = pytest.mark.lab
ETHERNET, IP_UDP = 14, 28  # bytes of headers

FLAT = """
from mininet.topo import Topo

class Flat(Topo):
    def build(self, number: int):
        switch = self.addSwitch("s1")
        for host in range(1, number + 1):
            self.addLink(self.addHost(f"h{host}"), switch)

topos = {"flat": Flat}
"""


def others(hosts: int, flows: int) -> list[tuple[str, str]]:
    """Pairs of hosts h1, h2, ..., each host in as many as any other."""
    return [
        (f"h{number % hosts + 1}", f"h{(number + hosts // 2 + number // hosts) % hosts + 1}")
        for number in range(flows)
    ]


@pytest.mark.thorough
def test_queues_on_all_links_of_a_hundred_hosts_are_ready_when_the_first_flow_starts(
    tmp_path: Path,
) -> None:
    payload = 1000
    experiment: Mapped = {
        "title": "test",
        "topology": "leaf_spine",
        "leaves": 10,
        "per_leaf": 10,
        "bw": 1000.0,
        "delay": "5us",
        "flows": [
            flow("udp", one, other, rate="1mbit", packet_size=payload, duration="500ms")
            for one, other in others(100, 200)
        ],
        "duration": "1s",
        "record": [],
    }
    found = run(experiment, tmp_path).table("datagrams")
    assert found["flow"].n_unique() == 200
    assert found["received_ns"].null_count() == 0
    took = found["received_ns"].to_numpy() - found["due_ns"].to_numpy()
    # By four hops where nothing is in the way; flows that start at one time do so 10 us apart.
    alone_ns = 4 * ((payload + IP_UDP + ETHERNET) * 8 + 5_000)
    assert alone_ns - 1_000 <= took.min() < alone_ns + 3_000
    assert took.max() < 200 * 10_000 + 10 * alone_ns


def test_round_trips_are_checked_before_the_start_however_long_that_takes(tmp_path: Path) -> None:
    experiment: Mapped = {
        "title": "test",
        "topology": "dumbbell",
        "pairs": 40,
        "rtt": "2s",  # 80 s of echoes, one after the other
        "bottleneck": {"rate": "1gbit", "queue": {"kind": "pfifo", "limit": 1000}},
        "flows": [bulk(f"s{pair}", f"d{pair}", size="1kB") for pair in range(1, 41)],
        "duration": "10s",
        "record": [],
    }
    flows = run(experiment, tmp_path).table("flows")
    # A round trip for the handshake, then the first window, one way.
    assert flows["fct_s"].is_between(3, 3.01).all()


@pytest.mark.thorough
def test_a_thousand_flows_between_five_hundred_hosts_on_one_switch(tmp_path: Path) -> None:
    (tmp_path / "flat.py").write_text(FLAT)
    pairs = others(500, 1000)
    experiment: Mapped = {
        "title": "test",
        "topology": "flat.py",
        "number": 500,
        "flows": [bulk(one, other, size="100kB") for one, other in pairs[::2]]
        + [flow("udp", one, other, rate="100kbit", duration="1s") for one, other in pairs[1::2]],
        "duration": "2s",
        "record": [],
    }
    found = run(experiment, tmp_path)
    flows = found.table("flows")
    assert len(flows) == 1000
    assert (flows.filter(pl.col("workload") == "bulk")["bytes"] == 100_000).all()
    sent = flows.filter(pl.col("workload") == "udp")
    assert (sent["datagrams_received"] == sent["datagrams_sent"]).all()


@pytest.mark.thorough
def test_hundreds_of_flows_send_for_seconds(tmp_path: Path) -> None:
    """Each sends many megabytes, from pages of memory that all share."""
    experiment: Mapped = {
        "title": "test",
        "topology": "dumbbell",
        "pairs": 50,
        "rtt": "20ms",
        "bottleneck": {"rate": "1gbit", "queue": {"kind": "pfifo", "limit": 10_000}},
        "flows": [
            bulk(f"s{sender}", f"d{receiver}", duration="2s")
            for sender in range(1, 51)
            for receiver in range(1, 9)
        ],
        "duration": "2s",
        "record": [],
    }
    flows = run(experiment, tmp_path).table("flows")
    assert len(flows) == 400
    assert (flows["bytes"] > 0).all()
