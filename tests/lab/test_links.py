"""Links that lie anywhere: each hop transmits and propagates by itself, to the microsecond."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from sandglass.errors import SandglassError
from tests.lab.experiments import Lab, Mapped, bulk, flow, run

pytestmark = pytest.mark.lab
MICROSECOND = 1_000
MILLION = 1_000_000
ETHERNET, IP_UDP = 14, 28  # bytes of headers
# Rate in Mb/s and delay in ms of each hop of a chain.
HOPS = {
    "r1-r2": (50, 1.0), "r2-r3": (10, 5.5), "r3-r4": (100, 0.25),
    "r4-r5": (8, 0.0), "r5-r6": (20, 3.0),
}  # fmt: skip


def chain(*flows: Mapped, **keys: Any) -> Mapped:
    """Five hops between h1 and h6, all recorded."""
    links = {
        name: {"rate": f"{rate}mbit", "delay": f"{delay}ms"} for name, (rate, delay) in HOPS.items()
    }
    return {
        "title": "test",
        "topology": "chain",
        "links": links,
        "flows": list(flows),
        "duration": "4s",
        "record": ["packets", *HOPS],
    } | keys


def arrivals(sent_ns: np.ndarray, payload: int) -> np.ndarray:
    """When datagrams of one size reach the far end of the chain, by arithmetic alone."""
    at = sent_ns.astype(float)
    for rate, delay in HOPS.values():
        transmission = (payload + IP_UDP + ETHERNET) * 8e3 / rate
        free = -math.inf
        for number, arrived in enumerate(at):
            free = max(arrived, free) + transmission
            at[number] = free + delay * 1e6
    return at


@pytest.mark.parametrize("payload", [16, 1472])
@pytest.mark.parametrize("burst", [1, 20])
def test_each_packet_takes_what_five_hops_take(lab: Lab, payload: int, burst: int) -> None:
    stream = flow("udp", "h1", "h6", rate="2mbit", packet_size=payload, burst=burst, duration="3s")
    found = lab(chain(stream))
    sent = found.datagrams()
    assert sent["received_ns"].null_count() == 0
    assert len(sent) > 400
    # When they came to the first queue: a datagram may be sent up to 2 us after it was due.
    came = found.packets(bottleneck="r1-r2")["enqueue_ns"].to_numpy()
    assert (came - sent["due_ns"].to_numpy()).max() < 2 * MICROSECOND
    predicted = arrivals(came, payload)
    assert np.abs(sent["received_ns"].to_numpy() - predicted).max() < MICROSECOND


def test_all_five_queues_are_recorded(lab: Lab) -> None:
    stream = flow("udp", "h1", "h6", rate="2mbit", burst=20, duration="3s")
    found = lab(chain(stream))
    packets = found.table("packets")
    for name, (rate, _) in HOPS.items():
        here = packets.filter((pl.col("bottleneck") == name) & (pl.col("direction") == "forward"))
        assert len(here) == len(found.datagrams())
        gaps = np.diff(here["dequeue_ns"].sort().to_numpy())
        assert gaps.min() >= (1472 + IP_UDP + ETHERNET) * 8e3 / rate - MICROSECOND
    assert found.content["bottlenecks"].keys() == HOPS.keys()


def test_only_what_is_named_or_has_a_queue_of_its_own_is_recorded(lab: Lab) -> None:
    stream = flow("udp", "h1", "h6", rate="1mbit", duration="1s")
    experiment = chain(stream, record=["packets", "r3-r2"], duration="2s")
    experiment["links"]["r5-r6"]["queue"] = {"kind": "codel"}
    assert lab(experiment).content["bottlenecks"].keys() == {"r2-r3", "r5-r6"}


def test_directions_differ_where_the_file_says_so(lab: Lab) -> None:
    experiment = {
        "title": "test",
        "topology": "chain",
        "routers": 2,
        # Written from the other end than in the topology.
        "links": {"r2-r1": {"rate": "10mbit", "delay": "1ms", "reverse": {"delay": "30ms"}}},
        "flows": [flow("udp", "h1", "h2", rate="1mbit"), flow("udp", "h2", "h1", rate="1mbit")],
        "duration": "1s",
        "record": [],
    }
    found = lab(experiment)
    for number, delay_ms in ((1, 30), (2, 1)):
        sent = found.datagrams(number).drop_nulls()
        took = sent["received_ns"] - sent["due_ns"] - (1472 + IP_UDP + ETHERNET) * 800
        # The first of the second flow: what starts together does so 10 us apart.
        assert ((took[1:] - delay_ms * 1e6).abs() < 3 * MICROSECOND).all()


def test_rate_delay_and_loss_of_a_link_change_on_schedule(lab: Lab) -> None:
    link = {
        "rate": "10mbit",
        "delay": "10ms",
        "reverse": {"delay": "1ms"},
        "schedule": [
            {"at": "1s", "rate": "5mbit"},
            {"at": "2s", "delay": "30ms", "rate": "2mbit"},
            {"at": "3s", "loss": "100%", "reverse": {"delay": "5ms"}},
            {"at": "4s", "loss": "0%"},
        ],
    }
    experiment = {
        "title": "test",
        "topology": "chain",
        "routers": 2,
        "links": {"r1-r2": link},
        "flows": [
            flow("udp", *ends, rate="1mbit", start=start, duration="4500ms")
            for *ends, start in (("h1", "h2", "0s"), ("h2", "h1", "100us"))
        ],
        "duration": "5s",
        "record": [],
    }
    found = lab(experiment)
    states = [(10, 10, 1), (5, 10, 1), (2, 30, 1), None, (2, 30, 5)]  # in each second
    for number in (1, 2):
        sent = found.datagrams(number)
        for second, state in enumerate(states):
            # Some tens of microseconds for tc; and who is on the way keeps what was.
            during = sent.filter(
                pl.col("due_ns").is_between(second * 10**9 + 10**6, (second + 1) * 10**9 - 10**7)
            )
            assert len(during) > 30
            if state is None:
                assert during["received_ns"].null_count() == len(during)
                continue
            rate, *delays = state
            took_ns = (1472 + IP_UDP + ETHERNET) * 8e3 / rate + delays[number - 1] * 1e6
            took = (during["received_ns"] - during["due_ns"]).to_numpy()
            assert np.abs(took - took_ns).max() < 3 * MICROSECOND


def test_a_link_without_a_rate_changes_too(lab: Lab) -> None:
    stream = flow("udp", "h1", "h2", rate="1mbit", duration="1900ms")
    experiment = {
        "title": "test",
        "topology": "chain",
        "routers": 2,
        "links": {"r2-r1": {"schedule": [{"at": "1s", "delay": "20ms"}]}},
        "flows": [stream],
        "duration": "2s",
        "record": [],
    }
    sent = lab(experiment).datagrams()
    took = (sent["received_ns"] - sent["due_ns"]).to_numpy() - (
        sent["due_ns"] > 10**9 + 10**6
    ).to_numpy() * 20 * 10**6
    apart = np.abs(sent["due_ns"].to_numpy() - 10**9) > 10**6
    assert np.abs(took[apart]).max() < 3 * MICROSECOND


def test_what_all_links_have_single_ones_replace(lab: Lab) -> None:
    experiment = {
        "title": "test",
        "topology": "chain",
        "routers": 3,
        "links": {"all": {"rate": "100mbit", "delay": "1ms"}, "r3-r2": {"delay": "7ms"}},
        "flows": [flow("udp", "h1", "h3", rate="1mbit", duration="1s")],
        "duration": "2s",
        "record": ["packets", "r1-r2"],
    }
    found = lab(experiment)
    assert list(found.content["bottlenecks"]) == ["r1-r2"]
    sent = found.datagrams()
    took_ns = 4 * (1472 + IP_UDP + ETHERNET) * 80 + 10 * 10**6
    assert np.abs((sent["received_ns"] - sent["due_ns"]).to_numpy() - took_ns).max() < (
        3 * MICROSECOND
    )


PLAIN = """
from mininet.topo import Topo

class Plain(Topo):
    def build(self):
        switch = self.addSwitch("s1")
        for number, bw in ((1, 20), (2, 10)):
            self.addLink(self.addHost(f"h{number}"), switch, bw=bw, delay="5ms", max_queue_size=10)

topos = {"plain": Plain}
"""


def test_a_topology_as_mininets_users_write_it(tmp_path: Path) -> None:
    (tmp_path / "plain.py").write_text(PLAIN)
    experiment = {
        "title": "test",
        "topology": "plain.py",
        "flows": [bulk("h1", "h2"), flow("ping", "h1", "h2")],
        "duration": "10s",
        "record": ["packets", "h2-s1"],
    }
    found = run(experiment, tmp_path)
    # Four times 5 ms, and an echo of 98 bytes transmitted twice at each rate.
    echo_ms = 20 + 2 * 98 * 8 / 10e3 + 2 * 98 * 8 / 20e3
    assert found.content["observed"]["rtt_ms"]["h1-h2"] == pytest.approx(echo_ms, abs=0.002)
    assert 9 < found.content["flows"][0]["goodput_mbit"] < 9.7
    assert found.packets("reverse")["queue_packets"].max() == 10  # from the switch to h2
    assert found.content["bottlenecks"]["h2-s1"]["reverse"]["drops"] > 0


RING = """
from mininet.topo import Topo

class Ring(Topo):
    def build(self):
        switches = [self.addSwitch(f"s{number}") for number in range(1, 5)]
        for one, two in zip(switches, switches[1:] + switches[:1]):
            self.addLink(one, two, delay="1ms")
        for number, switch in enumerate(switches, start=1):
            self.addLink(self.addHost(f"h{number}"), switch)

topos = {"ring": Ring}
"""


@pytest.mark.thorough
def test_switches_in_a_ring_span_a_tree(tmp_path: Path) -> None:
    (tmp_path / "ring.py").write_text(RING)
    pairs = ("h1", "h2"), ("h1", "h3"), ("h3", "h4")
    flows = [flow("ping", *pair, interval="100ms") for pair in pairs]
    experiment = {
        "title": "test", "topology": "ring.py", "flows": flows, "duration": "2s", "record": [],
    }  # fmt: skip
    found = run(experiment, tmp_path)
    assert all(each["answers"] == each["echoes"] == 20 for each in found.content["flows"])
    times = found.content["observed"]["rtt_ms"].values()
    assert {round(time) for time in times} == {2, 4, 6}  # 1 to 3 hops, as one link is blocked


def lossy(loss: Any, packets: int, seed: int = 1) -> Mapped:
    rate_mbit = 80
    seconds = math.ceil(packets * 64 * 8 / rate_mbit / 1e6)
    return {
        "title": "test",
        "topology": "chain",
        "routers": 2,
        "links": {"r1-r2": {"loss": loss, "reverse": {"loss": "0%"}}},
        "flows": [
            flow("udp", "h1", "h2", rate=f"{rate_mbit}mbit", packet_size=64, burst=100,
                 duration=f"{seconds}s"),
        ],
        "duration": f"{seconds}s",
        "record": [],
        "seed": seed,
    }  # fmt: skip


@pytest.mark.thorough
def test_random_loss_is_what_was_asked_for(lab: Lab) -> None:
    sent = lab(lossy("1%", MILLION)).datagrams()
    count = len(sent)
    assert count >= MILLION
    lost = sent["received_ns"].null_count()
    # 99 % interval of a binomial
    assert abs(lost - count / 100) < 2.576 * math.sqrt(count * 0.01 * 0.99)
    few = [lab(lossy("1%", 20_000), seed=seed).datagrams()["received_ns"] for seed in (1, 2)]
    assert few[0].to_list() != few[1].to_list()


@pytest.mark.thorough
def test_bursts_of_loss_have_the_lengths_of_gilbert_and_elliott(lab: Lab) -> None:
    sent = lab(lossy({"to_bad": "1%", "to_good": "25%"}, MILLION)).datagrams()
    lost = sent["received_ns"].is_null().to_numpy()
    edges = np.flatnonzero(np.diff(np.concatenate(([0], lost.view(np.int8), [0]))))
    lengths = edges[1::2] - edges[::2]
    # geometric with mean 4 and standard deviation sqrt(12)
    assert abs(lengths.mean() - 4) < 2.576 * math.sqrt(12 / len(lengths))
    share = 0.01 / (0.01 + 0.25)
    assert lost.mean() == pytest.approx(share, rel=0.03)


def test_flows_spread_over_the_spines(lab: Lab) -> None:
    flows = [bulk("h1", "h5", size="20kB") | {"count": 64}]
    tops = {f"leaf1-spine{number}": {"rate": "1gbit", "delay": "5us"} for number in (1, 2)}
    experiment = {
        "title": "test",
        "topology": "leaf_spine",
        "links": tops,
        "flows": flows,
        "duration": "3s",
        "record": ["packets", *tops],
    }
    packets = lab(experiment).table("packets").filter(direction="forward")
    by_spine = {
        name: set(packets.filter(bottleneck=name)["flow"].unique().drop_nulls()) for name in tops
    }
    one, two = by_spine.values()
    assert one | two == set(range(1, 65))
    assert not one & two
    assert min(len(one), len(two)) > 16


def test_switching_random_things_off_leaves_the_digest(lab: Lab) -> None:
    base = chain(flow("udp", "h1", "h6", rate="2mbit", burst=20, duration="3s"))
    zero = chain(flow("udp", "h1", "h6", rate="2mbit", burst=20, duration="3s"))
    zero["links"]["r1-r2"] |= {"loss": "0%", "jitter": "0s", "duplicate": "0%"}
    assert lab(base).content["digest"] == lab(zero).content["digest"]


@pytest.mark.parametrize("before", ["0s", "20ms"])
def test_the_round_trip_changes_where_there_are_wires(lab: Lab, before: str) -> None:
    after = {"0s": "30ms", "20ms": "0s"}[before]
    experiment = {
        "title": "test",
        "topology": "parking_lot",
        "rtt": before,
        "bottleneck": {
            "rate": "10mbit",
            "queue": {"kind": "pfifo", "limit": 100},
            "schedule": [{"at": "1s", "rtt": after}],
        },
        "flows": [flow("udp", "s1", "d1", rate="1mbit")],
        "duration": "2s",
        "record": [],
    }
    sent = lab(experiment).datagrams().drop_nulls()
    took = sent["received_ns"] - sent["due_ns"] - 2 * (1472 + IP_UDP + ETHERNET) * 800
    halves = {"0s": 0, "20ms": 10e6, "30ms": 15e6}
    for expected, within in (
        (halves[before], (0, 900_000_000)),
        (halves[after], (1_100_000_000, 2_000_000_000)),
    ):
        part = took.filter(sent["due_ns"].is_between(*within))
        assert len(part) > 50
        assert ((part - expected).abs() < 3 * MICROSECOND).all()


def test_a_bottleneck_may_be_a_hosts_own_link(tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(
        "from mininet.topo import Topo\n\n"
        "class Own(Topo):\n    def build(self):\n        switch = self.addSwitch('s1')\n"
        "        self.addLink(self.addHost('h1'), switch)\n"
        "        self.addLink(switch, self.addHost('h2'), bottleneck='bottleneck')\n\n"
        "topos = {'own': Own}\n"
    )
    experiment = {
        "title": "test",
        "topology": "own.py",
        "rtt": "20ms",
        "bottleneck": {"rate": "10mbit", "queue": {"kind": "codel"}},
        "flows": [bulk("h1", "h2")],
        "duration": "5s",
    }
    found = run(experiment, tmp_path)
    assert found.content["bottleneck"]["utilisation"] > 0.9


def test_what_plain_hosts_cannot_have_is_told(tmp_path: Path) -> None:
    (tmp_path / "plain.py").write_text(PLAIN)
    experiment = {
        "title": "test",
        "topology": "plain.py",
        "hosts": {"h1": {"initcwnd": 3}},
        "flows": [bulk("h1", "h2")],
        "duration": "1s",
    }
    with pytest.raises(SandglassError, match="h1 has no default route, which initcwnd"):
        run(experiment, tmp_path)
