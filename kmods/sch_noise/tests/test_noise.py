"""The qdisc noise: its arithmetic, and what it does to packets in a lab."""

import ctypes
import itertools
import math
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandglass.experiment import noise
from tests.kmods.userspace import compiled
from tests.lab.experiments import Lab, Mapped, Run, bulk, dumbbell, flow, run

US, MS = 1_000, 1_000_000
numbers = st.integers(0, 2**32 - 1)


class Params(ctypes.Structure):
    _fields_ = [
        ("phase", ctypes.c_uint32),
        ("host", ctypes.POINTER(ctypes.c_uint32)),
        ("quantiles", ctypes.c_uint32),
        ("wan", ctypes.c_uint32),
        ("wan_step", ctypes.c_uint32),
        ("nic", ctypes.c_uint32),
        ("rate", ctypes.c_uint64),
    ]


class Vars(ctypes.Structure):
    _fields_ = [
        ("packets", ctypes.c_uint64),
        ("wakeups", ctypes.c_uint64),
        ("instant", ctypes.c_int64),
        ("wakeup", ctypes.c_uint32),
        ("sent", ctypes.c_int64),
        ("interrupt", ctypes.c_int64),
        ("interrupts", ctypes.c_uint64),
    ]


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    loaded = compiled("noise", "sch_noise", tmp_path_factory.mktemp("noise"))
    for name in ("noise_sent", "noise_handed_up"):
        getattr(loaded, name).restype = ctypes.c_int64
    for name in ("noise_uniform", "noise_quantile", "noise_exponential", "noise_path"):
        getattr(loaded, name).restype = ctypes.c_uint32
    return loaded


def quantiles(values: list[int]) -> Any:
    return (ctypes.c_uint32 * len(values))(*values)


@given(numbers, st.integers(0, 10**9))
def test_uniform(library: ctypes.CDLL, random: int, most: int) -> None:
    assert library.noise_uniform(random, most) == random * (most + 1) >> 32


@given(numbers, st.lists(st.integers(0, 10**9), min_size=2, max_size=50).map(sorted))
def test_quantiles_are_joined_by_lines(
    library: ctypes.CDLL, random: int, values: list[int]
) -> None:
    found = library.noise_quantile(random, quantiles(values), len(values))
    place = random / 2**32 * (len(values) - 1)
    assert abs(found - np.interp(place, range(len(values)), values)) <= 1


@given(numbers, st.integers(0, noise.MOST_NS["wan"]))
def test_exponential(library: ctypes.CDLL, random: int, mean: int) -> None:
    expected = min(-mean * math.log((random + 1) / 2**32), 20 * mean)
    assert library.noise_exponential(random, mean) == pytest.approx(expected, abs=2 + mean * 1e-6)


packets = st.lists(st.tuples(st.integers(0, 3 * MS), st.integers(64, 1514)), max_size=60)


@given(packets, st.integers(0, 2 * MS), st.integers(0, 10**9), st.data())
def test_nothing_overtakes_on_its_way_out(
    library: ctypes.CDLL,
    arrivals: list[tuple[int, int]],
    phase: int,
    rate: int,
    data: st.DataObject,
) -> None:
    """Each leaves no earlier than it came, and after the one before was transmitted."""
    params = Params(phase=phase, rate=rate, host=quantiles([0, 10 * US]), quantiles=2)
    state = Vars()
    now, free = 0, 0
    shared: dict[int, int] = {}
    for gap, size in arrivals:
        now += gap
        first, second = data.draw(numbers), data.draw(numbers)
        sent = library.noise_sent(
            ctypes.byref(params), ctypes.byref(state), ctypes.c_int64(now), size, first, second
        )
        shared.setdefault(now, second)
        wanted = phase_of(first, phase) + (shared[now] * (10 * US) >> 32)
        assert sent == max(now + wanted, free)
        free = sent + (size * 10**9 // rate if rate else 0)


def phase_of(random: int, most: int) -> int:
    return random * (most + 1) >> 32


@given(packets, st.integers(1, 2 * MS))
def test_interrupts_keep_their_distance(
    library: ctypes.CDLL, arrivals: list[tuple[int, int]], nic: int
) -> None:
    """And no packet waits longer than that; after a pause none waits."""
    params, state = Params(nic=nic), Vars(interrupt=-10 * MS)
    times: list[int] = []
    now = 0
    for gap, _ in arrivals:
        now += gap
        up = library.noise_handed_up(ctypes.byref(params), ctypes.byref(state), ctypes.c_int64(now))
        assert up >= now
        before = times[-1] if times else -10 * MS
        if now >= before + nic:
            assert up == now
        assert up - now <= nic
        times.append(up)
    assert times == sorted(times)
    different = sorted(set(times))
    assert all(two - one >= nic for one, two in itertools.pairwise(different))


@given(
    numbers,
    numbers,
    st.integers(1, MS),
    st.integers(20, 2000),
    st.lists(st.integers(0, 2000 * MS), min_size=2),
)
def test_the_long_path_never_turns_packets_round(
    library: ctypes.CDLL, low: int, high: int, mean: int, times: int, into: list[int]
) -> None:
    """Up to the longest step, 2 s; and between two draws it goes from the one to the other."""
    params = Params(wan=mean, wan_step=times * mean)
    ends = [library.noise_exponential(random, mean) for random in (low, high)]
    places = sorted(each % params.wan_step for each in into)
    added = [library.noise_path(ctypes.byref(params), low, high, at) for at in places]
    arrivals = [at + delay for at, delay in zip(places, added, strict=True)]
    assert arrivals == sorted(arrivals)
    assert all(min(ends) <= delay <= max(ends) for delay in added)


def test_the_quantiles_of_a_histogram() -> None:
    """1 us three times, 5 us once, of two processors."""
    found = noise.of_histogram("# comment\n000001 2 1\n000002 0 0\n000005 1 0\n", "x")
    assert len(found) == noise.QUANTILES + 1
    assert found[0] == 1000
    assert found[noise.QUANTILES * 3 // 4] == 2000
    assert found[-1] == 6000
    assert found == sorted(found)


def test_the_tail_is_the_mixture_that_it_is_said_to_be() -> None:
    found = noise.inverted(noise.tailed, 0, 100_000)
    for number in range(1, noise.QUANTILES, 7):
        assert noise.tailed(found[number]) >= number / noise.QUANTILES
        assert noise.tailed(found[number] - 1) < number / noise.QUANTILES
    assert found[noise.QUANTILES // 2] == pytest.approx(3000, rel=0.01)


def sparse(noisy: Mapped | str | None) -> Mapped:
    """A packet each 1.6 ms on a fast link, 20 ms from host to host."""
    keys = {} if noisy is None else {"noise": noisy}
    return dumbbell(
        flow("udp", rate="500kbit", packet_size=100),
        queue={"kind": "pfifo", "limit": 1000},
        rate="1gbit",
        duration="10s",
        **keys,
    )


def added(done: Run) -> np.ndarray:
    """What the noise added to each datagram's delay, in ns."""
    sent = done.datagrams()
    assert sent["received_ns"].null_count() == 0
    assert sent["received_ns"].is_sorted()
    transmission = (100 + 28 + 14) * 8
    came = done.packets()["enqueue_ns"].to_numpy()
    due = sent["due_ns"].to_numpy()
    # A datagram is sent up to 2 us after it was due: the path ahead of the noise takes no time.
    assert (came >= due).all()
    return np.asarray(sent["received_ns"].to_numpy() - due - transmission - 20 * MS)


def distance(delays: np.ndarray, shares: np.ndarray) -> float:
    """Kolmogorov and Smirnov's, times the root of the number; above 1.95 one time of 1000.

    `shares` are what the law says for each of the sorted delays.
    """
    steps = np.arange(len(delays) + 1) / len(delays)
    furthest = max(np.abs(steps[1:] - shares).max(), np.abs(steps[:-1] - shares).max())
    return float(furthest * math.sqrt(len(delays)))


KINDS: dict[str, Mapped] = {
    "phase": {"phase": "1ms"},
    "host": {"host": "10us"},
    "wan": {"wan": "100us", "wan_step": "2ms"},
}


@pytest.mark.lab
@pytest.mark.parametrize("kind", KINDS)
def test_a_sparse_flow_sees_the_distribution(lab: Lab, kind: str) -> None:
    """The long path's at its knots alone, as between them it is linear."""
    delays = added(lab(sparse(KINDS[kind])))
    if kind == "wan":
        delays = delays[::5]  # every 8 ms, four steps
    assert len(delays) > 1000
    assert (delays >= 0).all()
    delays = np.sort(delays)
    shares = {
        "phase": np.clip(delays / 1e6, 0, 1),
        "host": np.clip(delays / 1e4, 0, 1),
        "wan": 1 - np.exp(-delays / 1e5),
    }
    assert distance(delays, shares[kind]) < 1.95


@pytest.mark.lab
def test_a_network_card_hands_packets_up_together(lab: Lab) -> None:
    given = sparse({"nic": "5ms"})
    done = lab(given)
    came = done.datagrams()["received_ns"].to_numpy()
    times = np.unique(came)
    assert len(times) < len(came) / 3
    assert np.diff(times).min() >= 5 * MS - US  # the packets themselves come to the microsecond
    assert added(done).max() <= 5 * MS + 2 * US


@pytest.mark.lab
def test_noise_of_nothing_is_no_noise(lab: Lab) -> None:
    silent = {"phase": "0s", "host": "0s", "nic": "0s", "wan": "0s"}
    digests = {lab(sparse(given)).content["digest"] for given in (None, silent, {})}
    assert len(digests) == 1


@pytest.mark.lab
def test_a_round_trip_may_change_under_noise(lab: Lab) -> None:
    done = lab(
        dumbbell(
            flow("ping", interval="100ms"),
            queue={"kind": "pfifo", "limit": 1000},
            rate="1gbit",
            schedule=[{"at": "2s", "rtt": "80ms"}],
            duration="4s",
            noise={"host": "10us"},
        )
    )
    times = done.table("rtt").filter(pl.col("rtt_ns").is_not_null())
    before, after = (
        times.filter((pl.col("sent_ns") > 2.2e9) == late)["rtt_ns"].median()
        for late in (False, True)
    )
    assert before == pytest.approx(40e6, abs=30e3)
    assert after == pytest.approx(80e6, abs=30e3)


@pytest.mark.lab
def test_a_hosts_card_keeps_its_rate_under_noise(lab: Lab) -> None:
    """In both directions: what it receives, and what it sends."""
    for host in ("s1", "d1"):
        done = lab(
            dumbbell(
                bulk(),
                queue={"kind": "pfifo", "limit": 1000},
                hosts={host: {"access_rate": "5mbit"}},
                noise="testbed",
            )
        )
        assert 4.2 < done.content["flows"][0]["goodput_mbit"] < 4.9


@pytest.mark.lab
def test_two_hosts_may_be_linked_directly(tmp_path: Path) -> None:
    """What the one sends and the other receives is noise of one end of their wire."""
    (tmp_path / "pair.py").write_text(
        "from mininet.topo import Topo\n"
        "class Pair(Topo):\n"
        "    def build(self):\n"
        "        self.addLink(self.addHost('a'), self.addHost('b'), bw=10, delay='5ms')\n"
        "topos = {'pair': Pair}\n"
    )
    done = run(
        {
            "title": "test",
            "topology": "pair.py",
            "flows": [bulk("a", "b")],
            "duration": "5s",
            "noise": "testbed",
        },
        tmp_path,
    )
    assert 8.5 < done.content["flows"][0]["goodput_mbit"] < 9.7
    both = done.qdiscs("a")
    assert sum(q["kind"] == "noise" for q in both) == 2
    assert all(q["options"]["phase"] and q["options"]["nic"] for q in both if q["kind"] == "noise")


@pytest.mark.lab
def test_the_seed_decides_it_and_each_host_has_its_own(lab: Lab) -> None:
    first, same, other = (added(lab(sparse("testbed"), seed=seed)) for seed in (1, 1, 2))
    assert (first == same).all()
    assert not (first == other).all()


@pytest.mark.lab
@pytest.mark.parametrize("kind", ["phase", "host", "nic", "wan"])
def test_tcp_sees_no_reordering(lab: Lab, kind: str) -> None:
    """No packet overtakes another, so that nothing is sent twice on a link that loses none."""
    given = {
        "phase": {"phase": "packet"},
        "host": {"host": "tail"},
        "nic": {"nic": "250us"},
        "wan": {"wan": "1ms", "wan_step": "20ms"},
    }[kind]
    done = lab(
        dumbbell(
            bulk(size="5MB"),
            bulk("s2", "d2", size="5MB", cc="reno"),
            queue={"kind": "pfifo", "limit": 100_000},
            rate="50mbit",
            pairs=2,
            duration="20s",
            noise=given,
        )
    )
    assert [each["retransmits"] for each in done.content["flows"]] == [0, 0]


def phase_case(rtt: str, **keys: Any) -> Mapped:
    """Two flows of Reno over 0.8 Mb/s with a queue of 16 packets, as in ns-2's test suite.

    A packet of 1000 bytes takes 10 ms; the second flow's round trip differs from the first one's.
    """
    hosts: Mapped = {name: {"mtu": 1000, "delayed_ack": False} for name in ("s1", "s2", "d1", "d2")}
    hosts["s2"]["rtt"] = rtt
    return {
        "title": "phase",
        "topology": "dumbbell",
        "pairs": 2,
        "rtt": "226ms",
        "bottleneck": {
            "rate": "811200bit",  # so that 1014 bytes with the Ethernet header take 10 ms
            "queue": {"kind": "pfifo", "limit": 16},
            "reverse": {"rate": "100mbit"},
        },
        "hosts": hosts,
        "flows": [bulk(cc="reno"), bulk("s2", "d2", cc="reno", start="100ms")],
        "duration": "200s",
        "record": [],
    } | keys


def jain(done: Run) -> float:
    rates = [each["goodput_mbit"] for each in done.content["flows"]]
    return float(sum(rates) ** 2 / len(rates) / sum(rate**2 for rate in rates))


@pytest.mark.lab
@pytest.mark.parametrize("rtt", ["231ms", "235ms", "240ms"])
def test_phase_effects_go(lab: Lab, rtt: str) -> None:
    """Floyd and Jacobson, 1992: in step with the link's packets, one flow gets all the drops."""
    assert jain(lab(phase_case(rtt))) < 0.8
    assert jain(lab(phase_case(rtt, noise={"phase": "packet"}))) >= 0.9


@pytest.mark.lab
def test_tc_tells_of_it(lab: Lab) -> None:
    """What it added, and to what it was set."""
    done = lab(sparse({"phase": "1ms", "nic": "50us"}))
    sent, received = (
        next(q for q in done.qdiscs(host) if q["kind"] == "noise" and q["options"][key])
        for host, key in (("s1", "phase"), ("d1", "nic"))
    )
    assert sent["options"]["phase"] == MS
    assert received["options"]["nic"] == 50 * US
    assert 0 < sent["most_ns"] <= MS
    assert sent["added_ns"] == pytest.approx(sent["packets"] * MS / 2, rel=0.1)
    assert received["interrupts"] == received["packets"]
