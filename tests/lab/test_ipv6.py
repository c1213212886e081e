"""Flows with `family: 6`: as exact as those of IPv4, on every kind of network, and none unasked."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from sandglass.errors import SandglassError
from tests.lab.experiments import Lab, Mapped, Run, bulk, dumbbell, flow, run

pytestmark = pytest.mark.lab
MICROSECOND, MS = 1_000, 1_000_000
ETHERNET, IPV6, UDP, ICMP = 14, 40, 8, 8  # bytes of headers
RATE, RTT_NS = 10_000_000, 40 * MS
TCP, FRAGMENT = 6, 44  # the protocol that follows IPv6's header
ROOMY = {"kind": "pfifo", "limit": 1000}
NO_TIMESTAMPS = {"sysctls": {"net.ipv4.tcp_timestamps": 0}}


def six(workload: str, source: str = "s1", to: str = "d1", **keys: Any) -> Mapped:
    return flow(workload, source, to, family=6, **keys)


def shown(source: str = "s1", **keys: Any) -> Mapped:
    """A flow that shows all addresses of IPv6 that its host has."""
    other = "d1" if source == "s1" else "s1"
    return flow("command", source, other, argv=["cat", "/proc/net/if_inet6"], **keys)


def transmission_ns(bytes_of_ip: int) -> float:
    return (bytes_of_ip + ETHERNET) * 8e9 / RATE


def test_goodput_is_what_the_headers_leave(lab: Lab) -> None:
    """Of 1514 bytes 1440 are data, without TCP's timestamps."""
    hosts = {"s1": NO_TIMESTAMPS, "d1": NO_TIMESTAMPS}
    found = lab(dumbbell(six("bulk"), queue={"kind": "pfifo", "limit": "1bdp"}, hosts=hosts))
    full = found.packets(flow=1).filter(pl.col("enqueue_ns") > 2_000 * MS)
    assert full["payload_bytes"].unique().to_list() == [1440]
    assert full["size_bytes"].unique().to_list() == [1514]
    acked = found.table("acks").filter(pl.col("time_ns") > 2_000 * MS)
    bits = 8 * (acked["bytes_acked"][-1] - acked["bytes_acked"][0])
    lasted_s = (acked["time_ns"][-1] - acked["time_ns"][0]) / 1e9
    assert bits / lasted_s == pytest.approx(RATE * 1440 / 1514, rel=0.002)


def test_both_families_share_a_bottleneck(lab: Lab) -> None:
    """From one host to another, a connection of each."""
    found = lab(dumbbell(six("bulk"), bulk(), queue={"kind": "fq_codel"}))
    halves = [found.packets(flow=number)["size_bytes"].sum() for number in (1, 2)]
    assert halves[0] == pytest.approx(halves[1], rel=0.05)
    assert found.content["bottleneck"]["utilisation"] > 0.98
    for number, payload in ((1, 1428), (2, 1448)):
        assert found.packets(flow=number)["payload_bytes"].max() == payload
        assert found.packets("reverse", flow=number)["protocol"].unique().to_list() == [TCP]
    assert set(found.table("acks")["flow"]) == {1, 2}


def test_echoes_take_the_round_trip(lab: Lab) -> None:
    found = lab(dumbbell(six("ping", interval="100ms"), queue=ROOMY, duration="3s"))
    times = found.table("rtt")["rtt_ns"]
    assert len(times) == 30
    exact = RTT_NS + 2 * transmission_ns(IPV6 + ICMP + 56)
    assert ((times - exact).abs() < MICROSECOND).all()
    assert found.content["observed"]["rtt_ms"]["s1-d1"] * 1e6 == pytest.approx(exact, abs=1e3)


def test_what_hosts_tell_of_themselves_is_over_before_the_first_echo(lab: Lab) -> None:
    """On so slow a link a report of multicast groups would delay it by milliseconds."""
    found = lab(dumbbell(six("ping"), queue=ROOMY, rate="64kbit", duration="2s"))
    exact = RTT_NS + 2 * (IPV6 + ICMP + 56 + ETHERNET) * 8e9 / 64_000
    assert found.content["observed"]["rtt_ms"]["s1-d1"] * 1e6 == pytest.approx(exact, abs=1e3)


@pytest.mark.parametrize("payload", [16, 1000, None])
def test_datagrams_arrive_after_transmission_and_delay(lab: Lab, payload: int | None) -> None:
    size: Mapped = {} if payload is None else {"packet_size": payload}
    found = lab(dumbbell(six("udp", rate="1mbit", duration="5s", **size), queue=ROOMY))
    sent = found.datagrams()
    assert sent["received_ns"].null_count() == 0
    assert len(sent) > 400
    whole = IPV6 + UDP + (payload or 1452)
    late = sent["received_ns"] - sent["due_ns"] - transmission_ns(whole) - RTT_NS / 2
    assert (late.abs() < MICROSECOND).all()
    packets = found.packets(flow=1)
    assert packets["size_bytes"].unique().to_list() == [whole + ETHERNET]
    assert packets["payload_bytes"].unique().to_list() == [payload or 1452]


def test_fragments_are_told_apart(lab: Lab) -> None:
    """Of a datagram of 3000 bytes the second and third have no ports."""
    stream = six("udp", rate="1mbit", packet_size=3000, duration="1s")
    found = lab(dumbbell(stream, queue=ROOMY, duration="1s"))
    assert found.datagrams()["received_ns"].null_count() == 0
    packets = found.packets()
    first, later = packets.filter(flow=1), packets.filter(protocol=FRAGMENT)
    assert len(later) == 2 * len(first) > 0
    assert set(later["sport"]) == {0}


def test_packets_are_marked(lab: Lab) -> None:
    found = lab(
        dumbbell(
            six("bulk", ecn=True),
            six("udp", "s2", "d2", rate="3mbit", ecn=True),
            pairs=2,
            queue={"kind": "codel", "ecn": True},
        )
    )
    told = found.content["bottleneck"]
    assert told["drops"] == 0
    assert told["marks"] == found.qdisc()["ecn_mark"] > 20
    for number in (1, 2):
        packets = found.packets(flow=number).filter(pl.col("payload_bytes") > 0)
        assert set(packets["ecn_in"]) == {2}
        assert set(packets["ecn_out"]) == {2, 3}
    assert found.content["flows"][0]["ecn"]
    assert found.content["flows"][0]["delivered_ce"] > 0


def test_what_a_host_has_holds_for_both_families(lab: Lab) -> None:
    found = lab(
        dumbbell(
            *[six("bulk", f"s{n}", f"d{n}", size="200kB", start=f"{n}s") for n in (1, 2, 3)],
            pairs=3,
            queue=ROOMY,
            hosts={"s2": {"initcwnd": 3}, "d3": {"delayed_ack": False}},
        )
    )
    flights, acks = [], []
    for number in (1, 2, 3):
        data = found.packets(flow=number).filter(pl.col("payload_bytes") > 0).sort("enqueue_ns")
        times = data["enqueue_ns"]
        flights.append(len(times.filter(times < times[0] + 30 * MS)))
        acks.append(len(found.packets("reverse", flow=number)))
    assert flights == [10, 3, 10]
    assert acks[2] > 1.5 * acks[0]


def test_flows_spread_over_the_spines(lab: Lab) -> None:
    tops = {f"leaf1-spine{number}": {"rate": "1gbit", "delay": "5us"} for number in (1, 2)}
    experiment = {
        "title": "test",
        "topology": "leaf_spine",
        "links": tops,
        "flows": [six("bulk", "h1", "h5", size="20kB", count=64)],
        "duration": "3s",
        "record": ["packets", *tops],
    }
    packets = lab(experiment).table("packets").filter(direction="forward")
    one, two = (set(packets.filter(bottleneck=name)["flow"]) for name in tops)
    assert one | two == set(range(1, 65))
    assert not one & two
    assert min(len(one), len(two)) > 16


PLAIN = """
from mininet.topo import Topo


class Plain(Topo):
    def build(self):
        hosts = [self.addHost(f'h{n}') for n in (1, 2)]
        switches = [self.addSwitch(f's{n}') for n in range(1, SWITCHES + 1)]
        for n, switch in enumerate(switches[1:]):
            self.addLink(switches[n], switch)
        if len(switches) > 2:
            self.addLink(switches[-1], switches[0])
        self.addLink(hosts[0], switches[0], bw=10, delay='5ms')
        self.addLink(hosts[1], switches[-1], bw=10, delay='5ms')


topos = {'plain': Plain}
"""


@pytest.mark.parametrize(("switches", "kind"), [(1, "Open vSwitch"), (3, "bridges in a ring")])
def test_switches_forward_it(tmp_path: Path, switches: int, kind: str) -> None:
    (tmp_path / "plain.py").write_text(PLAIN.replace("SWITCHES", str(switches)))
    experiment = {
        "title": kind,
        "topology": "plain.py",
        "flows": [six("bulk", "h1", "h2"), six("ping", "h2", "h1", start="4s")],
        "duration": "5s",
    }
    found = run(experiment, tmp_path)
    assert found.content["flows"][0]["goodput_mbit"] > 8.9
    assert found.content["flows"][1]["answers"] == 1


def test_a_dumbbell_with_open_vswitch(lab: Lab) -> None:
    sent = [
        lab(dumbbell(six("bulk"), queue={"kind": "codel"}, topology=name)).content["flows"][0]
        for name in ("dumbbell", "dumbbell_ovs")
    ]
    assert sent[1]["bytes"] == pytest.approx(sent[0]["bytes"], rel=0.02)


def test_every_workload_has_it(lab: Lab) -> None:
    """Whatever it is made of, each sends data in packets with IPv6's headers."""
    flows = [
        six("bulk", size="100kB"),
        six("restart", size="100kB", rounds=2, pause="100ms"),
        six("http", size="100kB"),
        six("page", html="30kB", objects=["30kB", "40kB"]),
        six("media"),
        six("udp", rate="500kbit"),
        six("ping"),
        six("flent:tcp_upload", "s2", "d2", duration="2s"),
    ]
    found = lab(dumbbell(*flows, pairs=2, queue=ROOMY, duration="15s"))
    sizes = {
        number: set(found.packets(flow=number)["size_bytes"]) for number in range(1, 1 + len(flows))
    }
    for number in (1, 2, 3, 4):
        assert 1514 in sizes[number]
        full = found.packets(flow=number).filter(size_bytes=1514)
        assert full["payload_bytes"].unique().to_list() == [1428]
    assert sizes[5] == {52 + UDP + IPV6 + ETHERNET}
    assert sizes[6] == {1514}
    assert found.content["flows"][6]["answers"] == 15
    uploaded = found.packets(flow=8).filter(size_bytes=1514)
    assert uploaded["payload_bytes"].unique().to_list() == [1428]
    assert len(uploaded) > 1000


def test_a_program_is_given_the_address(lab: Lab) -> None:
    server = six("command", "d1", "s1", argv=["iperf", "-s", "-V"])
    client = six("command", argv=["iperf", "-V", "-c", "{to}", "-t", "3"], start="1s")
    found = lab(dumbbell(server, client, queue=ROOMY))
    said = (found.path / found.content["flows"][1]["output"]).read_text()
    assert "connected with fd00::a02:101" in said
    # Nobody told the ports: it is the flow of the host that opened the connection.
    assert 1428 in found.packets(flow=2)["payload_bytes"].to_list()


def addresses(found: Run, number: int) -> dict[str, str]:
    """What `shown` has shown: the interface that has an address, by the address."""
    said = (found.path / found.content["flows"][number - 1]["output"]).read_text()
    return {line.split()[0]: line.split()[-1] for line in said.splitlines()}


def test_hosts_have_one_address_each(lab: Lab) -> None:
    """None that they make themselves, and of the kernel's own packets none is recorded."""
    found = lab(dumbbell(six("bulk"), shown(), shown("d1"), queue=ROOMY, duration="3s"))
    loopback = {"0" * 31 + "1": "lo"}
    assert addresses(found, 2) == {"fd00" + "0" * 20 + "0a010101": "s1-eth0"} | loopback
    assert addresses(found, 3) == {"fd00" + "0" * 20 + "0a020101": "d1-eth0"} | loopback
    assert set(found.table("packets")["flow"]) == {1}


def test_without_such_a_flow_there_is_none(lab: Lab) -> None:
    found = lab(dumbbell(bulk(), shown(), queue=ROOMY, duration="3s"))
    assert addresses(found, 2) == {}


def test_the_same_bytes_again(lab: Lab, tmp_path: Path) -> None:
    experiment = dumbbell(
        six("bulk", cc="reno", start_within="1s"),
        six("udp", "s2", "d2", rate="5mbit", pattern="poisson"),
        bulk("s2", "d2"),
        pairs=2,
        queue={"kind": "pie"},
        duration="4s",
    )
    first = lab(experiment)
    assert run(experiment, tmp_path).content["digest"] == first.content["digest"]


def test_a_repetition_is_a_run_with_its_seed(lab: Lab) -> None:
    flows = [six("bulk", size="200kB", start_within="50ms", count=3, cc="reno")]
    experiment = dumbbell(*flows, queue={"kind": "pie"}, duration="5s", record=[])
    both = lab(experiment | {"repeat": 2}).table("flows")
    for seed in (1, 2):
        alone = lab(experiment, seed).table("flows")
        assert both.filter(seed=seed).equals(alone)


def test_a_host_without_an_address_is_told(tmp_path: Path) -> None:
    (tmp_path / "bare.py").write_text(
        "from mininet.topo import Topo\n\n"
        "class Bare(Topo):\n    def build(self):\n        switch = self.addSwitch('s1')\n"
        "        self.addLink(self.addHost('h1'), switch)\n"
        "        self.addLink(self.addHost('h2', ip=None), switch)\n\n"
        "topos = {'bare': Bare}\n"
    )
    experiment = {
        "title": "test",
        "topology": "bare.py",
        "flows": [six("bulk", "h1", "h2")],
        "duration": "1s",
    }
    with pytest.raises(SandglassError, match="h2 has no address on h2-eth0"):
        run(experiment, tmp_path)
