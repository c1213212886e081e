"""The plan for the guest, against arithmetic done by hand."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from sandglass.experiment import qdiscs, reading
from sandglass.experiment.qdiscs import Link
from sandglass.install import builds
from sandglass.run import plan
from workloads import media

BASE = """\
topology: dumbbell
pairs: 2
rtt: 100ms
bottleneck: {rate: 20mbit, queue: {kind: codel, limit: 1000, ecn: true}}
flows: [{workload: bulk, from: s1, to: d1, cc: cubic, ecn: true}]
duration: 90s
"""


def planned(**changes: Any) -> Any:
    data = yaml.safe_load(BASE)
    for key, value in changes.items():
        data[key] = yaml.safe_load(value)
    experiment = reading.parse(data, Path("test.yaml"))
    return plan.resolve(experiment, experiment.facts)


def queue(text: str, rtt: str = "100ms", rate: str = "20mbit") -> dict[str, Any]:
    found = planned(bottleneck=f"{{rate: {rate}, queue: {text}}}", rtt=rtt)
    forward: dict[str, Any] = found["bottlenecks"]["bottleneck"]["forward"]["queue"]
    return forward


def test_the_whole_plan() -> None:
    found = planned(pairs="1", title="One flow")
    buffers = {
        "net.ipv4.tcp_rmem": "4096 131072 16000000",
        "net.ipv4.tcp_wmem": "4096 16384 16000000",
    }
    host = {
        "half_rtt_ns": 50_000_000,
        "mtu": 1500,
        "access_rate_bps": None,
        "initcwnd": None,
        "delayed_ack": True,
        "pacing": False,
        "ecn": False,
        "sysctls": buffers,
    }
    link = {
        "rate_bps": 20_000_000,
        "queue": {
            "kind": "codel",
            "limit": 1000,
            "limit_unit": "packets",
            "options": ["limit", "1000", "ecn"],
        },
    }
    path = found["topology"].pop("path")
    assert path.endswith("dumbbell.py")
    assert found == {
        "title": "One flow",
        "seed": 1,
        "repeat": 1,
        "duration_ns": 90 * 10**9,
        "topology": {"name": "dumbbell", "params": {"pairs": 1}},
        "rtt_spread_ns": 0,
        "hosts": {"s1": host | {"ecn": True}, "d1": host},
        "bottlenecks": {
            "bottleneck": {"recorded": True, "forward": link, "reverse": link, "schedule": []}
        },
        "wires": {},
        "flows": [
            {
                "id": 1,
                "workload": "bulk",
                "src": "s1",
                "dst": "d1",
                "family": 4,
                "cc": "cubic",
                "ecn": True,
                "start_ns": 0,
                "start_within_ns": 0,
                "duration_ns": 90 * 10**9,
                "size_bytes": None,
                "options": {"dscp": None},
            }
        ],
        "workloads": {"bulk": "workloads/bulk.py"},
        "sysctl_advice": {},
        "record": ["packets", "acks", "queues"],
        "zero_ns": 30 * 10**9,
        "memory_mb": 512,
    }


def test_key_order_does_not_depend_on_the_files() -> None:
    text = "{s2: {sysctls: {net.b: 1, net.a: 2}}, s1: {mtu: 1400}}"
    turned = "{s1: {mtu: 1400}, s2: {sysctls: {net.a: 2, net.b: 1}}}"
    assert str(planned(hosts=text)) == str(planned(hosts=turned))


# --- Queues: 20 Mb/s * 100 ms = 250000 bytes; a full packet is 1514 bytes -------------------------


@pytest.mark.parametrize(
    ("text", "limit", "options"),
    [
        ("{kind: pfifo, limit: 1bdp}", 165, ["limit", "165"]),  # 250000 / 1514 = 165.1
        ("{kind: pfifo, limit: 0.5bdp}", 83, ["limit", "83"]),  # 82.56
        ("{kind: bfifo, limit: 1bdp}", 250_000, ["limit", "250000"]),
        ("{kind: bfifo, limit: 64p}", 96_896, ["limit", "96896"]),  # 64 * 1514
        ("{kind: bfifo, limit: 50ms}", 125_000, ["limit", "125000"]),
        ("{kind: pfifo, limit: 50ms}", 83, ["limit", "83"]),
        ("{kind: pfifo, limit: 100kB}", 66, ["limit", "66"]),  # 66.05
        ("{kind: pfifo, limit: 0.001bdp}", 1, ["limit", "1"]),
        ("{kind: pfifo, limit: 64p}", 64, ["limit", "64"]),
        ("{kind: pfifo}", None, []),
        ("{kind: codel, target: 5ms, ecn: false}", None, ["target", "5ms", "noecn"]),
        ("{kind: pie, target: 20ms, bytemode: false, dq_rate_estimator: true}", None,
         ["target", "20ms", "nobytemode", "dq_rate_estimator"]),
        ("{kind: pie, alpha: 2, tupdate: 30ms}", None, ["alpha", "2", "tupdate", "30ms"]),
        ("{kind: fq_codel, memory_limit: 1MiB}", None, ["memory_limit", "1048576"]),
        ("{kind: red, limit: 2bdp, min: 0.2bdp, avpkt: 1000, probability: 0.02, ecn: false}",
         500_000,
         ["limit", "500000", "min", "50000", "avpkt", "1000", "probability", "0.02"]),
        ("{kind: netem, delay: [10ms, 1ms], loss: 1%}", None,
         ["delay", "10ms", "1ms", "loss", "1%"]),
        ("{kind: cake, bandwidth: 10mbit, nat: false, besteffort: true, memlimit: 1bdp}", None,
         ["bandwidth", "10000000bit", "nonat", "besteffort", "memlimit", "250000"]),
    ],
)  # fmt: skip
def test_queues_become_tcs_words(text: str, limit: int | None, options: list[str]) -> None:
    found = queue(text)
    assert (found["limit"], found["options"]) == (limit, options)


def test_bdp_counts_the_largest_packet_that_flows() -> None:
    big = "{s1: {mtu: 9000}, d1: {mtu: 9000}}"
    bottleneck = "{rate: 20mbit, queue: {kind: pfifo, limit: 1bdp}}"
    found = planned(hosts=big, bottleneck=bottleneck)["bottlenecks"]["bottleneck"]["forward"]
    assert found["queue"]["limit"] == 28  # 250000 / 9014 = 27.7
    one = planned(hosts="{s1: {mtu: 9000}}", bottleneck=bottleneck)
    assert one["bottlenecks"]["bottleneck"]["forward"]["queue"]["limit"] == 165  # d1 limits it


def test_the_papers_bdp() -> None:
    # CAIA-TR-150710A, Fig 17: 10 Mb/s and 100 ms are 83 packets.
    assert queue("{kind: pfifo, limit: 1bdp}", rate="10mbit")["limit"] == 83


def test_modules_of_the_labs_users(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "sch_mine").mkdir()
    (tmp_path / "sch_mine" / "Kbuild").touch()
    monkeypatch.setenv("SANDGLASS_KMODS", str(tmp_path))
    found = queue("{kind: mine, limit: 1bdp, ecn: true, depth: 0.5bdp, word: blue}")
    assert found["options"] == ["limit", "165", "ecn", "depth", "83", "word", "blue"]
    found = queue("{kind: mine, limit: 1bdp, depth: 0.5bdp, bytes: true}")
    assert found["options"] == ["limit", "165", "depth", "125000", "bytes"]
    found = queue("{kind: mine, depth: 0.5bdp, bytes: false}")
    assert found["options"] == ["depth", "83"]


@given(st.integers(1, 10**11), st.integers(1, 10**10), st.integers(590, 65549))
def test_packets_and_bytes_of_a_bdp_agree(rate: int, rtt: int, packet: int) -> None:
    link = Link(rate, rtt, packet)
    length = qdiscs.words("pfifo", "limit", "1bdp")
    assert not isinstance(length, list)
    packets = qdiscs.count(length, "packets", link)
    size = qdiscs.count(length, "bytes", link)
    assert packets >= 1
    assert packets == 1 or abs(packets * packet - size) <= packet // 2 + 1


# --- Paths ----------------------------------------------------------------------------------------


def halves(found: dict[str, Any]) -> dict[str, int]:
    return {name: host["half_rtt_ns"] for name, host in found["hosts"].items()}


def test_a_hosts_round_trip_holds_for_its_pair() -> None:
    found = halves(planned(hosts="{s1: {rtt: 60ms}}"))
    assert found == {"s1": 30_000_000, "d1": 30_000_000, "s2": 50_000_000, "d2": 50_000_000}


def test_a_partner_may_have_its_own() -> None:
    found = halves(planned(hosts="{s1: {rtt: 60ms}, d1: {rtt: 80ms}}"))
    assert (found["s1"], found["d1"]) == (30_000_000, 40_000_000)


def test_a_round_trip_of_nothing_is_one() -> None:
    assert halves(planned(hosts="{d1: {rtt: 0s}}"))["s1"] == 0


@given(st.integers(0, 10**10), st.integers(0, 10**10))
def test_the_halves_add_up(base: int, own: int) -> None:
    partner = {"s1": "d1", "d1": "s1", "s2": "d2", "d2": "s2"}
    found = plan.half_rtts(["d1", "d2", "s1", "s2"], partner, base, {"d2": own})
    assert found["s1"] + found["d1"] == base
    assert found["s2"] + found["d2"] == own
    assert 0 <= found["s1"] - found["d1"] <= 1


def test_the_reverse_direction() -> None:
    text = (
        "{rate: 20mbit, queue: {kind: pfifo, limit: 1bdp}, "
        "reverse: {rate: 2mbit, queue: {kind: pfifo, limit: 1bdp}}}"
    )
    found = planned(bottleneck=text)["bottlenecks"]["bottleneck"]
    assert found["reverse"]["rate_bps"] == 2_000_000
    assert found["forward"]["queue"]["limit"] == 165
    assert found["reverse"]["queue"]["limit"] == 17  # 25000 / 1514 = 16.5


def schedule(text: str, **changes: str) -> list[dict[str, Any]]:
    bottleneck = f"{{rate: 20mbit, queue: {{kind: codel}}, {text}}}"
    found: list[dict[str, Any]] = planned(bottleneck=bottleneck, **changes)["bottlenecks"][
        "bottleneck"
    ]["schedule"]
    return found


def test_a_schedule_of_rates_moves_both_directions() -> None:
    assert schedule("schedule: [{at: 30s, rate: 5mbit}]") == [
        {"at_ns": 30 * 10**9, "forward_rate_bps": 5_000_000, "reverse_rate_bps": 5_000_000}
    ]


def test_a_reverse_rate_of_its_own_stays() -> None:
    text = (
        "reverse: {rate: 1mbit}, "
        "schedule: [{at: 3s, rate: 5mbit}, {at: 4s, reverse: {rate: 2mbit}}, {at: 5s, rate: 6mbit}]"
    )
    rates = [(each["forward_rate_bps"], each["reverse_rate_bps"]) for each in schedule(text)]
    assert rates == [(5_000_000, 1_000_000), (5_000_000, 2_000_000), (6_000_000, 2_000_000)]


def test_a_change_that_is_repeated_is_each_of_them_in_order() -> None:
    text = (
        "schedule: [{at: 1s, every: 2s, times: 3, rate: 5mbit},"
        " {at: 2s, every: 2s, times: 2, rate: 6mbit}]"
    )
    found = [(step["at_ns"] // 10**9, step["forward_rate_bps"] // 10**6) for step in schedule(text)]
    assert found == [(1, 5), (2, 6), (3, 5), (4, 6), (5, 5)]


def test_a_schedule_of_round_trips_spares_hosts_with_their_own() -> None:
    found = schedule("schedule: [{at: 60s, rtt: 31ns, rate: 1mbit}]", hosts="{d2: {rtt: 10ms}}")
    assert found == [
        {"at_ns": 60 * 10**9, "forward_rate_bps": 1_000_000, "reverse_rate_bps": 1_000_000},
        {"at_ns": 60 * 10**9, "half_rtt_ns": {"d1": 15, "s1": 16}},
    ]


def test_several_bottlenecks() -> None:
    data = yaml.safe_load(BASE.replace("dumbbell", "parking_lot").replace("pairs: 2", "hops: 3"))
    data["bottleneck"]["schedule"] = [{"at": "5s", "rate": "1mbit"}, {"at": "6s", "rtt": "1ms"}]
    data["bottlenecks"] = {"hop2": {"rate": "10mbit"}}
    experiment = reading.parse(data, Path("test.yaml"))
    links = plan.resolve(experiment, experiment.facts)["bottlenecks"]
    for direction in ("forward", "reverse"):
        rates = {name: link[direction]["rate_bps"] for name, link in links.items()}
        assert rates == {"hop1": 20_000_000, "hop2": 10_000_000, "hop3": 20_000_000}
    # The round trip is the whole path's, so one bottleneck's schedule changes it.
    assert [len(link["schedule"]) for link in links.values()] == [2, 1, 1]


@pytest.mark.parametrize("name", ["r1-s1", "s1-r1"])
def test_a_link_changes_in_the_direction_in_which_it_is_written(name: str) -> None:
    """The rate by its queue, delay and loss by its wire, as a whole."""
    settings = (
        "{rate: 10mbit, delay: 1ms, reverse: {delay: 2ms}, schedule: "
        "[{at: 1s, rate: 5mbit}, {at: 2s, delay: 3ms, loss: 1%}, {at: 3s, reverse: {delay: 9ms}}]}"
    )
    found = planned(links=f"{{{name}: {settings}}}")
    ways = ("forward", "reverse") if name == "s1-r1" else ("reverse", "forward")
    assert found["bottlenecks"]["s1-r1"]["schedule"] == [
        {"at_ns": 10**9, "forward_rate_bps": 5_000_000, "reverse_rate_bps": 5_000_000}
    ]
    steps = found["wires"]["s1-r1"]["schedule"]
    assert [step["at_ns"] for step in steps] == [2 * 10**9, 3 * 10**9]
    delays = [[step[way]["delay_ns"] for way in ways] for step in steps]
    assert delays == [[3_000_000, 2_000_000], [3_000_000, 9_000_000]]
    for step in steps:
        assert all(step[way]["rate_bps"] == 5_000_000 for way in ways)
        assert all(step[way]["impairments"][:2] == ["loss", "random"] for way in ways)


def test_time_zero_comes_after_the_echoes() -> None:
    """Two pairs of 10 s, twice; the usual ones fit before 30 s."""
    flows = "[{workload: bulk, from: s1, to: d1}, {workload: ping, from: s2, to: d2}]"
    assert planned(flows=flows)["zero_ns"] == 30 * 10**9
    assert planned(flows=flows, rtt="10s")["zero_ns"] == (30 + 2 * 2 * 10) * 10**9
    six = flows.replace("to: d1", "to: d1, family: 6", 1)
    # Each pair in each of its families, and 3 s for what IPv6 says at the start.
    assert planned(flows=six, rtt="10s")["zero_ns"] >= (30 + 2 * 2 * 10 + 2 * 3) * 10**9


# --- Flows and hosts ------------------------------------------------------------------------------


def test_who_opens_the_connection_asks_for_ecn() -> None:
    """The sender of a bulk flow, and the client of an HTTP server."""
    flows = (
        "[{workload: bulk, from: s1, to: d1, ecn: true}, "
        "{workload: http, from: s2, to: d2, size: 1MB, ecn: true}]"
    )
    hosts = planned(pairs="2", flows=flows)["hosts"]
    assert {name for name, host in hosts.items() if host["ecn"]} == {"s1", "d2"}


def test_flows_are_numbered_from_1_and_repeated() -> None:
    flows = planned(
        flows="[{workload: bulk, from: s1, to: d1, count: 3}, "
        "{workload: bulk, from: s2, to: d2, start: 5s, size: 2MB}, "
        "{workload: udp, from: s2, to: d2, rate: 1mbit, start: 80s}]"
    )["flows"]
    assert [flow["id"] for flow in flows] == [1, 2, 3, 4, 5]
    assert (flows[3]["size_bytes"], flows[3]["duration_ns"]) == (2_000_000, None)
    assert (flows[4]["cc"], flows[4]["ecn"], flows[4]["duration_ns"]) == (None, False, 10 * 10**9)
    assert flows[4]["options"] == {
        "rate": 1_000_000,
        "packet_size": 1472,
        "burst": 1,
        "pattern": "constant",
        "on_time": None,
        "off_time": None,
        "trace": None,
        "l4s": False,
        "dscp": None,
    }


@pytest.mark.parametrize(
    ("keys", "size"),
    [
        ("", 1472),
        (", family: 4", 1472),
        (", family: 6", 1452),
        (", family: 6, packet_size: 900", 900),
    ],
)
def test_a_datagram_fills_a_packet_of_either_family(keys: str, size: int) -> None:
    found = planned(flows=f"[{{workload: udp, from: s1, to: d1, rate: 1mbit{keys}}}]")["flows"][0]
    assert found["options"]["packet_size"] == size


def test_a_media_packet_holds_an_interval_of_audio_and_a_header() -> None:
    [flow] = planned(flows="[{workload: media, from: s1, to: d1}]")["flows"]
    assert flow["options"] == {
        "rate": 16_000,
        "interval": 20_000_000,
        "playout_delay": 150_000_000,
        "dscp": None,
    }
    assert media.packet_size(flow["options"]) == 40 + 12


def test_the_users_sysctls_win() -> None:
    text = '{s1: {sysctls: {net.ipv4.tcp_rmem: "4096 87380 6291456"}}}'
    found = planned(hosts=text)["hosts"]
    assert found["s1"]["sysctls"]["net.ipv4.tcp_rmem"] == "4096 87380 6291456"
    assert found["d1"]["sysctls"]["net.ipv4.tcp_rmem"] == "4096 131072 16000000"


def test_socket_buffers_hold_path_and_queue() -> None:
    found = planned(bottleneck="{rate: 1gbit, queue: {kind: pfifo, limit: 1bdp}}", rtt="400ms")[
        "hosts"
    ]["s1"]["sysctls"]["net.ipv4.tcp_wmem"]
    # 1 Gb/s * 400 ms = 50 MB, the queue as much: 8 * 100 MB, but for rounding to packets
    assert abs(int(found.split()[2]) - 800_000_000) < 8 * 1514


def test_socket_buffers_stay_within_an_int() -> None:
    found = planned(bottleneck="{rate: 1tbit, queue: {kind: pfifo, limit: 1bdp}}")
    assert found["hosts"]["s1"]["sysctls"]["net.ipv4.tcp_rmem"].endswith(f" {2**31 - 1}")


def test_memory_grows_with_what_is_recorded() -> None:
    fast = "{rate: 1gbit, queue: {kind: codel}}"
    # 1 Gb/s for 90 s are 7.43 million packets: two records of 56 bytes and one of 92 for each make
    # 1446 MiB, and 9000 samples of two queues 2 MiB; besides, 4 * (12.5 MB + 1.5 MB) for the
    # sockets and 256 + 4 * 8 + 4 MiB for the rest.
    whole = planned(bottleneck=fast)["memory_mb"]
    assert 1447 + 53 + 292 <= whole <= 1448 + 55 + 292
    rest = planned(bottleneck=fast, record="[packets, queues]")["memory_mb"]
    assert whole - rest == pytest.approx(92 * 7.43e6 / 2**20, rel=0.001)
    headers = planned(bottleneck=fast, record="[packets, acks, queues, headers]")["memory_mb"]
    assert headers - whole == pytest.approx(2 * 104 * 7.43e6 / 2**20, rel=0.001)
    assert planned(bottleneck=fast, record="[]")["memory_mb"] == 512
    assert planned(bottleneck=fast, memory="2GiB")["memory_mb"] == 2048


@pytest.mark.parametrize(("spread", "ns"), [("5%", 5_000_000), ("0.5ms", 500_000), ("0%", 0)])
def test_a_spread_may_be_a_share_of_the_round_trip(spread: str, ns: int) -> None:
    """So that a grid over round trips has one experiment file."""
    experiment_file = builds.ROOT / "examples" / "codel.yaml"
    experiment = reading.load(experiment_file, [f"rtt_spread={spread}"])
    assert plan.resolve(experiment, experiment.facts)["rtt_spread_ns"] == ns
    again = reading.parse(experiment.filled(), experiment_file)
    assert plan.resolve(again, again.facts)["rtt_spread_ns"] == ns
