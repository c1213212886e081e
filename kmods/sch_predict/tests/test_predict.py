"""Predict: its arithmetic and what it finds in synthetic traffic, and the qdisc in a lab."""

import ctypes
import heapq
import itertools
import math
import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import polars as pl
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sandglass.errors import SandglassError
from tests.kmods.userspace import compiled
from tests.lab.experiments import Lab, Run, bulk, dumbbell, flow

ONE, BINS, LAGS, PEAKS, SETS, WAYS = 256, 4096, 64, 8, 256, 4
MS, SECOND = 10**6, 10**9
MTU = 1514


class Bin(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint64) for name in ("arrived", "answered", "departed")]


class Lag(ctypes.Structure):
    _fields_ = [
        *((name, ctypes.c_uint32) for name in ("bins", "due", "fitted", "growth")),
        ("first", ctypes.c_bool),
        ("peaks", ctypes.c_uint64 * PEAKS),
        *((name, ctypes.c_uint32) for name in ("newest", "age")),
    ]


class Transient(ctypes.Structure):
    _fields_ = [
        ("lag", ctypes.c_uint32),
        ("growth", ctypes.c_uint32),
        ("until", ctypes.c_uint32),
        ("enough", ctypes.c_uint64),
    ]


class Link(ctypes.Structure):
    _fields_ = [
        ("rate", ctypes.c_uint64),
        ("bytes", ctypes.c_uint64),
        ("ns", ctypes.c_uint64),
        ("last", ctypes.c_uint64),
        ("last_size", ctypes.c_uint32),
        ("waiting", ctypes.c_bool),
        ("idle", ctypes.c_bool),
    ]


class Predict(ctypes.Structure):
    _fields_ = [
        ("history", ctypes.POINTER(Bin)),
        ("bin_ns", ctypes.c_uint64),
        ("target", ctypes.c_uint32),
        ("rate", ctypes.c_uint64),
        ("bound_ns", ctypes.c_uint64),
        ("mtu", ctypes.c_uint32),
        ("bin", ctypes.c_uint32),
        ("bin_end", ctypes.c_uint64),
        ("now", Bin),
        ("resumed", ctypes.c_uint32),
        ("pause", ctypes.c_uint32),
        ("link", Link),
        ("lags", Lag * LAGS),
        ("transient", Transient),
        ("detections", ctypes.c_uint32),
    ]


class Flow(ctypes.Structure):
    _fields_ = [
        ("hash", ctypes.c_uint32),
        ("seen", ctypes.c_uint32),
        ("sent", ctypes.c_uint32, 31),
        ("due", ctypes.c_uint32, 1),
        ("until", ctypes.c_uint32),
    ]


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    loaded = compiled("predict", "sch_predict", tmp_path_factory.mktemp("predict"))
    for name in ("predict_signals", "predict_exceeds", "predict_claim", "predict_answers"):
        getattr(loaded, name).restype = ctypes.c_bool
    loaded.predict_flow.restype = ctypes.POINTER(Flow)
    loaded.predict_enough.restype = ctypes.c_uint64
    for name in ("predict_log2", "predict_load", "predict_doubling", "predict_feedback"):
        getattr(loaded, name).restype = ctypes.c_uint32
    return loaded


@dataclass
class Queue:
    """A FIFO before a link, with Predict at it. Times in ns, the rate in bytes/s."""

    library: ctypes.CDLL
    rate: int
    start: int = 0
    first_bin: int = 0
    target: int = 100
    waiting: list[tuple[int, int]] = field(default_factory=list)
    """Of each packet that has not left: when it will, and its size."""
    found: list[tuple[int, int, float]] = field(default_factory=list)
    """Of each arrival in a transient: time, lag in bins, growth."""
    free: int = 0

    def __post_init__(self) -> None:
        self.bins = (Bin * BINS)()
        self.flows = (Flow * WAYS * SETS)()
        self.state = Predict(history=self.bins, bin_ns=MS, target=self.target, mtu=MTU)
        self.library.predict_restart(ctypes.byref(self.state), ctypes.c_uint64(self.start))
        self.state.bin = self.state.resumed = self.first_bin
        for lag in self.state.lags:
            lag.due = self.first_bin + 1

    def arrive(self, now: int, size: int = MTU, of: int = 0) -> tuple[int, bool]:
        """A packet of a flow: when it begins to leave, and whether it would be signalled."""
        self._serve(now)
        at, state = ctypes.c_uint64(self.start + now), ctypes.byref(self.state)
        self.library.predict_advance(state, at)
        flow = self.library.predict_flow(ctypes.byref(self.flows), of, self.state.bin)
        answers = ctypes.c_bool(self.library.predict_answers(flow, size, MTU))
        self.library.predict_arrived(state, at, size, answers)
        signal = self.library.predict_signals(ctypes.byref(self.state))
        transient = self.state.transient
        if transient.lag:
            self.found.append((now, transient.lag, transient.growth / ONE))
        begin = max(now, self.free)
        self.free = begin + size * SECOND // self.rate
        self.waiting.append((begin, size))
        self._serve(now)
        return begin, signal

    def _serve(self, now: int) -> None:
        while self.waiting and self.waiting[0][0] <= now:
            when, size = self.waiting.pop(0)
            at = ctypes.c_uint64(self.start + when)
            self.library.predict_departed(
                ctypes.byref(self.state), at, size, ctypes.c_bool(bool(self.waiting))
            )


@dataclass
class SlowStart:
    """Flows in ideal slow start: each packet that leaves brings two, one round trip later.

    A flow that is signalled keeps its window from when it learns of it.
    """

    rtt: int
    starts: list[int]
    initial: int = 10
    obey: bool = True
    longest_delay: int = 0
    signalled: dict[int, int] = field(default_factory=dict)
    """When each flow was first signalled."""
    window: list[int] = field(default_factory=list)

    def run(self, queue: Queue, until: int) -> None:
        self.window = [self.initial for _ in self.starts]
        learned: dict[int, int] = {}
        events = [
            (start + 1000 * n, flow)
            for flow, start in enumerate(self.starts)
            for n in range(self.initial)
        ]
        heapq.heapify(events)
        while events and events[0][0] < until:
            now, flow = heapq.heappop(events)
            begin, signal = queue.arrive(now, of=flow)
            self.longest_delay = max(self.longest_delay, begin - now)
            answer = begin + self.rtt
            if signal and flow not in self.signalled:
                self.signalled[flow] = now
                learned[flow] = answer
            grows = not self.obey or answer < learned.get(flow, answer + 1)
            self.window[flow] += grows
            for n in range(1 + grows):
                heapq.heappush(events, (answer + 1000 * n, flow))


def test_lags_are_those_of_the_document(library: ctypes.CDLL) -> None:
    """Three intervals of the longest fit in the history, with what a pause leaves to be tried."""
    lags = [lag.bins for lag in Queue(library, RATE).state.lags]
    assert (lags[0], lags[-1]) == (2, 733)
    assert all(1 < b / a <= 1.5 for a, b in itertools.pairwise(lags))
    assert 4 * lags[-1] < BINS


@given(st.integers(ONE, 4 * ONE - 1))
def test_logarithm(library: ctypes.CDLL, growth: int) -> None:
    exact = math.log2(growth / ONE) * 65536
    assert exact - 1.01 <= library.predict_log2(growth) <= exact + 1e-6


@given(
    st.integers(2, 1024),
    st.floats(1.31, 2.99),
    st.integers(10**4, 5 * 10**9),
    st.integers(1, 400),
)
def test_the_load_announced_is_an_exponentials(
    library: ctypes.CDLL, lag: int, growth: float, rate: int, target: int
) -> None:
    """What an exponential brings in the next doubling time, by its integral."""
    state = Predict(bin_ns=MS, target=target, rate=rate, mtu=MTU)
    enough = library.predict_enough(ctypes.byref(state), lag, int(growth * ONE))
    growth = int(growth * ONE) / ONE
    doubling = lag / math.log2(growth)
    now = enough * math.log(2) / doubling / (1 - 1 / growth)  # bytes per bin, at the end of the lag
    next_load = now * doubling / math.log(2)  # from there until it has doubled
    assert next_load == pytest.approx(rate * doubling / 1000 * target / 100, rel=0.01, abs=50)


RATE = 1_250_000


@pytest.mark.parametrize("rtt_ms", [20, 37, 50, 100, 150, 233, 400])
@pytest.mark.parametrize("initial", [3, 10])
def test_slow_start_is_found_and_keeps_its_rate_at_the_links(
    library: ctypes.CDLL, rtt_ms: int, initial: int
) -> None:
    queue = Queue(library, RATE)
    load = SlowStart(rtt_ms * MS, [0], initial)
    load.run(queue, 30 * rtt_ms * MS)
    bdp = RATE * rtt_ms / 1000 / MTU
    # it is known after two round trips beyond the initial window and with 8 packets in excess;
    # until the sender answers the window doubles once more
    assert 0.7 * bdp <= load.window[0] <= max(1.5 * bdp, 4 * initial, 6 * 8)
    time, lag, growth = queue.found[0]
    if bdp > 4 * initial:
        assert time >= 2 * rtt_ms * MS
        assert lag == pytest.approx(rtt_ms, rel=0.1)
        assert growth == pytest.approx(2, rel=0.25)


@pytest.mark.parametrize("flows", [2, 5, 16])
@pytest.mark.parametrize("seed", range(4))
def test_parallel_flows_are_signalled_once_each_and_in_time(
    library: ctypes.CDLL, flows: int, seed: int
) -> None:
    rtt = 100 * MS
    draw = random.Random(seed)
    queue = Queue(library, 5 * RATE)
    load = SlowStart(rtt, [draw.randrange(rtt) for _ in range(flows)])
    load.run(queue, 20 * rtt)
    bdp = 5 * RATE * 0.1 / MTU
    assert set(load.signalled) == set(range(flows))
    assert 0.7 * bdp <= sum(load.window) <= 1.6 * bdp
    assert load.longest_delay < rtt  # in slow start by itself it has no bound


def test_the_target_scales_what_is_allowed(library: ctypes.CDLL) -> None:
    windows = []
    for target in (100, 200):
        load = SlowStart(100 * MS, [0])
        load.run(Queue(library, RATE, target=target), 3 * SECOND)
        windows.append(load.window[0])
    assert 1.6 < windows[1] / windows[0] < 2.4


def steady(seed: int) -> Iterator[tuple[int, int]]:
    """Packets at 90 % of the link, evenly spaced but for what each lacks or has in excess."""
    draw = random.Random(seed)
    gap = MTU * SECOND / RATE / 0.9
    for n in range(5000):
        yield int(n * gap + draw.uniform(0, gap)), MTU


def steps(seed: int) -> Iterator[tuple[int, int]]:
    """A load of 20 % to which one of 60 % comes, at any time."""
    draw = random.Random(seed)
    at = draw.uniform(1, 2) * SECOND
    gap = MTU * SECOND / RATE
    low = [(int(n * gap * 5), MTU) for n in range(600)]
    high = [(int(at + n * gap / 0.6), MTU) for n in range(1200)]
    yield from heapq.merge(low, high)


def saw_teeth(seed: int) -> Iterator[tuple[int, int]]:
    """A flow in congestion avoidance: from 60 % of the link to 110 % and back, each second."""
    now, gap = float(seed), MTU * SECOND / RATE
    while now < 6 * SECOND:
        yield int(now), MTU
        now += gap / (0.6 + 0.5 * (now % SECOND) / SECOND)


@pytest.mark.parametrize("traffic", [steady, steps, saw_teeth])
@pytest.mark.parametrize("seed", range(5))
def test_other_traffic_is_not_signalled(library: ctypes.CDLL, traffic: object, seed: int) -> None:
    queue = Queue(library, RATE)
    assert not any(queue.arrive(now, size)[1] for now, size in traffic(seed))  # type: ignore[operator]


def test_numbers_that_wrap_around_change_nothing(library: ctypes.CDLL) -> None:
    """Bins are counted in 32 bits, bytes in 64."""
    found = []
    for first_bin, total in ((0, 0), (2**32 - 700, 0), (2**31 - 700, 2**64 - 10**5)):
        queue = Queue(library, RATE, start=first_bin * MS, first_bin=first_bin)
        for number in range(BINS):
            queue.bins[number] = Bin(total, total)
        queue.state.now = Bin(total, total)
        SlowStart(100 * MS, [0]).run(queue, 2 * SECOND)
        found.append(queue.found)
    assert found[0]
    assert found[0] == found[1] == found[2]


@given(st.lists(st.tuples(st.integers(0, 2**44), st.integers(40, 65536)), max_size=200))
def test_any_packets_at_any_time(library: ctypes.CDLL, packets: list[tuple[int, int]]) -> None:
    """Long pauses, huge packets, unordered sizes: no arithmetic fault, and no load from nothing."""
    queue, now = Queue(library, RATE), 0
    for gap, size in packets:
        now += gap
        queue.arrive(now, size)
    assert queue.state.now.arrived == sum(size for _, size in packets)
    if not queue.state.transient.lag:
        assert library.predict_load(ctypes.byref(queue.state)) == 0


def test_the_links_rate_is_measured_anew(library: ctypes.CDLL) -> None:
    queue, now = Queue(library, RATE), 0
    for rate in (RATE, 4 * RATE, RATE // 5):
        queue.rate = rate
        for _ in range(600):
            begin, _ = queue.arrive(now)
            now += MTU * SECOND // rate // 2 if begin - now < 50 * MS else MTU * SECOND // rate
        assert queue.state.link.rate == pytest.approx(rate, rel=0.05)


@given(
    st.integers(0, 2**32 - 1),
    st.integers(1, 125 * 10**9),
    st.integers(1, 2**32 - 1).map(lambda us: 1000 * us),
)
def test_what_the_link_carries_in_time_is_within_the_bound(
    library: ctypes.CDLL, backlog: int, rate: int, bound_ns: int
) -> None:
    state = Predict(bin_ns=MS, rate=rate, bound_ns=bound_ns, mtu=MTU)
    exceeds = library.predict_exceeds(ctypes.byref(state), ctypes.c_uint32(backlog))
    assert exceeds == (backlog * SECOND // rate > bound_ns)


@pytest.mark.parametrize("unknown", [{"bound_ns": 0, "rate": RATE}, {"bound_ns": MS, "rate": 0}])
def test_without_a_bound_or_a_rate_no_queue_is_too_long(
    library: ctypes.CDLL, unknown: dict[str, int]
) -> None:
    state = Predict(bin_ns=MS, mtu=MTU, **unknown)
    assert not library.predict_exceeds(ctypes.byref(state), ctypes.c_uint32(2**32 - 1))


@dataclass
class Table:
    """Flows, by numbers that all belong to one set. Times in bins from `start` on."""

    library: ctypes.CDLL
    start: int

    def __post_init__(self) -> None:
        self.sets = (Flow * WAYS * SETS)()

    def flow(self, number: int, now: int) -> Any:
        at = ctypes.c_uint32(self.start + now)
        return self.library.predict_flow(ctypes.byref(self.sets), number * SETS + 7, at)

    def answers(self, number: int, now: int, size: int = MTU) -> bool:
        answers: bool = self.library.predict_answers(self.flow(number, now), size, MTU)
        return answers


@settings(max_examples=50)
@given(
    st.integers(0, 2**32 - 1),
    st.lists(st.tuples(st.integers(0, 50), st.integers(0, 3), st.integers(1, 100)), max_size=100),
)
def test_a_flow_is_signalled_once_until_its_time_is_over(
    library: ctypes.CDLL, start: int, claims: list[tuple[int, int, int]]
) -> None:
    table = Table(library, start)
    held: dict[int, int] = {}
    passed = 0
    for wait, number, hold in claims:
        passed += wait
        flow = table.flow(number, passed)
        given_now = library.predict_claim(flow, ctypes.c_uint32(start + passed), hold)
        assert given_now == (held.get(number, 0) <= passed)
        if given_now:
            held[number] = passed + hold


@given(
    st.integers(0, 2**32 - 1),
    st.lists(st.tuples(st.integers(0, 9), st.integers(0, 3), st.integers(40, 65536)), max_size=200),
)
@example(
    0, [(0, 1, 10 * MTU), (0, 0, 40), (0, 1, 40)]
)  # in the first bin none is silent for longer
def test_an_initial_window_answers_nothing(
    library: ctypes.CDLL, start: int, packets: list[tuple[int, int, int]]
) -> None:
    """Ten full packets of each of four flows, which a set has room for."""
    table, passed = Table(library, start), 0
    sent = dict.fromkeys(range(4), 0)
    for wait, number, size in packets:
        passed += wait
        assert table.answers(number, passed, size) == (sent[number] >= 10 * MTU)
        sent[number] += size


@pytest.mark.parametrize("start", [0, 2**32 - 500])
def test_after_a_long_silence_a_flow_begins_anew(library: ctypes.CDLL, start: int) -> None:
    table = Table(library, start)
    assert not any(table.answers(0, n) for n in range(10))
    assert table.answers(0, 9 + 1024)
    assert not table.answers(0, 9 + 1024 + 1025)


def test_a_signal_that_waits_ends_with_its_transfer(library: ctypes.CDLL) -> None:
    """A flow that pauses for longer than a round trip takes none of the last transient's along."""
    table = Table(library, 2**32 - 20)
    for pause, due in ((1024, True), (1025, False)):
        table.flow(0, 0).contents.due = True
        assert table.flow(0, pause).contents.due == due
        table = Table(library, 2**32 - 20)


@given(
    st.integers(1, 125 * 10**9),
    st.integers(100, 10**6).map(lambda us: 1000 * us),
    st.integers(1, 1000),
    st.integers(2, 733),
    st.integers(333, 768),
)
def test_no_setting_is_too_large_for_what_announces_the_target(
    library: ctypes.CDLL, rate: int, bin_ns: int, target: int, lag: int, growth: int
) -> None:
    """Of a link of 1 Tb/s, and a lag of 733 bins of a second each, ten times what it carries."""
    state = Predict(bin_ns=bin_ns, rate=rate, target=target, mtu=MTU)
    found = library.predict_enough(ctypes.byref(state), lag, growth)
    carried = rate * lag * bin_ns // SECOND * target // 100
    share = ((growth - ONE) << 16) // growth
    assert found == carried * share // library.predict_log2(growth)


def test_a_full_set_forgets_who_has_been_silent_for_longest(library: ctypes.CDLL) -> None:
    table = Table(library, 2**32 - 20)
    for number in range(WAYS):
        assert not any(table.answers(number, number) for _ in range(10))
    assert table.answers(0, WAYS)  # it has been heard of again
    assert not table.answers(WAYS, WAYS + 1)
    assert all(table.answers(number, WAYS + 2) for number in (0, 2, 3))
    assert not table.answers(1, WAYS + 3)


QUEUE = {"kind": "predict", "limit": 2000, "ecn": True}
# what the thesis calls "keep current rate", and a receiver that lets slow start double
HOSTS: dict[str, dict[str, Any]] = {
    "s1": {"sysctls": {"net.ipv4.tcp_abe.beta_ecn": 100}},
    "d1": {"sysctls": {"net.ipv4.tcp_rmem": "4096 33554432 33554432"}},
}


def slow_start(
    lab: Lab,
    standing: bool = False,
    head: bool = False,
    count: int = 1,
    ecn: bool = True,
    **keys: Any,
) -> Run:
    """Flows that keep their rate when they are signalled, 10 Mb/s and 100 ms."""
    flow = bulk(cc="abe_reno", ecn=ecn, count=count)
    usual = {"hosts": HOSTS, "rtt": "100ms", "duration": "2s"}
    queue = QUEUE | {"standing": standing, "head": head}
    return lab(dumbbell(flow, queue=queue, **(usual | keys)))


def signals(run: Run) -> pl.DataFrame:
    """The packets that carry a signal, in order."""
    signalled = (pl.col("ecn_out") != pl.col("ecn_in")) | pl.col("drop_ns").is_not_null()
    return run.packets().filter(signalled).sort("enqueue_ns")


@pytest.mark.lab
def test_slow_start_ends_where_the_link_is_full(lab: Lab) -> None:
    run = slow_start(lab)
    bdp = RATE * 0.1 / MTU
    first = signals(run)["enqueue_ns"][0]
    assert 300 * MS < first < 600 * MS  # in the round before the link is full
    settled = run.table("acks").filter(pl.col("time_ns") > first + 500 * MS)["cwnd_packets"]
    assert 0.85 * bdp < settled[0] < 1.3 * bdp
    delay = run.packets()["sojourn_ns"].max()
    assert delay is not None
    assert delay < 60 * MS  # type: ignore[operator]
    samples = run.table("queues").filter(pl.col("doubling_us") > 0)
    assert samples["rate"][0] == pytest.approx(RATE, rel=0.01)
    assert 90_000 < samples["doubling_us"][0] < 130_000
    assert run.qdisc()["ecn_mark"] == signals(run).height


@pytest.mark.lab
@pytest.mark.parametrize("ecn", [True, False])
@pytest.mark.parametrize("head", [True, False])
def test_each_flow_is_signalled_once_in_the_transient(lab: Lab, head: bool, ecn: bool) -> None:
    """By a mark, or else by the loss of one packet; nothing is lost for want of room."""
    run = slow_start(lab, head=head, count=4, rate="50mbit", ecn=ecn)
    early = signals(run).filter(pl.col("enqueue_ns") < 700 * MS)
    assert sorted(early["sport"].to_list()) == sorted(set(run.packets()["sport"].to_list()))
    counted = run.qdisc()
    assert counted["overlimit"] == 0
    assert (counted["ecn_mark"] == 0) == (not ecn)
    assert (counted["early"] == 0) == ecn


@pytest.mark.lab
def test_a_signal_from_the_head_does_not_wait(lab: Lab) -> None:
    tail, head = (slow_start(lab, head=each) for each in (False, True))
    came = signals(tail).row(0, named=True)
    left = signals(head).row(0, named=True)
    assert came["sojourn_ns"] > 2 * MTU * SECOND / RATE
    assert 0 <= left["dequeue_ns"] - came["enqueue_ns"] <= MTU * SECOND / RATE


@pytest.mark.lab
def test_paced_slow_start_is_found_without_a_queue(lab: Lab) -> None:
    hosts = HOSTS | {"s1": HOSTS["s1"] | {"pacing": True}}
    run = slow_start(lab, hosts=hosts)
    delay = run.packets()["sojourn_ns"].max()
    assert delay is not None
    assert signals(run)["enqueue_ns"][0] < 700 * MS
    assert delay < 60 * MS  # type: ignore[operator]


@pytest.mark.lab
def test_standing_queues_are_left_to_codel_when_asked(lab: Lab) -> None:
    """Four flows beyond slow start keep the queue they have, or CoDel drains it."""
    late: list[Any] = []
    for standing in (False, True):
        run = slow_start(
            lab,
            standing,
            count=4,
            duration="10s",
            hosts=HOSTS | {"s1": {"sysctls": {"net.ipv4.tcp_abe.beta_ecn": 50}}},
        )
        assert (run.qdisc()["standing"] > 0) == standing
        late.append(run.packets().filter(pl.col("enqueue_ns") > 5 * SECOND)["sojourn_ns"].median())
    assert late[1] < 15 * MS < late[0]


@pytest.mark.lab
def test_codel_begins_anew_after_a_transient(lab: Lab) -> None:
    """It drops one packet at a time: what it was to drop before the transient is forgotten."""
    load = [bulk(cc="reno", count=4), bulk(cc="reno", count=8, start="8s")]
    queue = QUEUE | {"ecn": False, "standing": True}
    run = lab(dumbbell(*load, queue=queue, rtt="100ms", duration="10s"))
    assert run.table("queues").filter(pl.col("time_ns") > 8 * SECOND)["doubling_us"].max()
    dropped = run.packets().filter(pl.col("drop") == "aqm_dequeue")
    assert dropped.filter(pl.col("drop_ns") > 8 * SECOND).height
    assert dropped["drop_ns"].is_unique().all()


@pytest.mark.lab
def test_a_flow_stays_the_same_after_a_timeout(lab: Lab) -> None:
    """TCP then sends by another hash, unless it is told not to; queue and signals must not care."""
    samples = []
    load = [
        bulk(cc="reno", count=8),
        bulk(cc="reno", count=8, start="3s") | {"from": "s2", "to": "d2"},
    ]
    for rehash in (0, 1):
        hosts = {name: {"sysctls": {"net.core.txrehash": rehash}} for name in ("s1", "s2")}
        keys = {"pairs": 2, "rate": "5mbit", "rtt": "100ms", "duration": "8s", "hosts": hosts}
        samples.append(lab(dumbbell(*load, queue=QUEUE | {"limit": 40}, **keys)))
    assert samples[0].qdisc()["overlimit"] > 100  # so that there are timeouts
    assert samples[0].table("queues").equals(samples[1].table("queues"))


@pytest.mark.lab
@pytest.mark.parametrize(
    "load",
    [
        bulk(cc="reno", ecn=True, count=10, start_within="1s"),
        bulk(cc="cubic", ecn=True, count=2, start_within="1s"),
        flow("udp", rate="8700kbit"),
        flow("udp", rate="5mbit", burst=20),
    ],
    ids=["reno", "cubic", "steady", "bursts"],
)
def test_a_steady_load_raises_no_alarm(lab: Lab, load: dict[str, Any]) -> None:
    queue = QUEUE | {"standing": True}
    experiment = dumbbell(load, queue=queue, rtt="100ms", duration="30s", hosts={"d1": HOSTS["d1"]})
    samples = lab(experiment).table("queues").filter(pl.col("direction") == "forward")
    late = samples.filter(pl.col("time_ns") > 5 * SECOND)["detections"]
    assert late[-1] == late[0]


@pytest.mark.thorough
@pytest.mark.lab
@pytest.mark.parametrize(("size", "parts"), [("15kB", 5), ("30kB", 2)])
def test_short_flows_at_random_raise_no_alarm(lab: Lab, size: str, parts: int) -> None:
    """Half of the link, from flows of one or two round trips: 99 of 100 seconds are quiet."""
    short = bulk(cc="reno", ecn=True, count=900, size=size, start_within="105s")
    experiment = dumbbell(*[short] * parts, queue=QUEUE, duration="110s", record=["queues"])
    samples = lab(experiment).table("queues").filter(pl.col("direction") == "forward")
    windows = (
        samples.filter(pl.col("time_ns").is_between(5 * SECOND, 105 * SECOND))
        .group_by(second=pl.col("time_ns") // SECOND)
        .agg(pl.col("detections").last())
        .sort("second")
    )
    assert windows.height == 101
    assert (windows["detections"].diff() > 0).sum() <= 1


@pytest.mark.lab
def test_beyond_its_bound_a_queue_is_signalled_without_a_transient(lab: Lab) -> None:
    """A load that is a tenth above what the link carries."""
    load = flow("udp", rate="11mbit")
    run = lab(dumbbell(load, queue=QUEUE | {"bound": "50ms"}, duration="6s"))
    assert run.table("queues")["detections"].max() == 0
    times = signals(run)["enqueue_ns"]
    before = run.packets().filter(pl.col("enqueue_ns") < times[0])["sojourn_ns"]
    assert before.max() == pytest.approx(50 * MS, rel=0.05)
    # once in four feedback times, of 1024 bins at most on a full link; the queue comes on top
    assert times[1] - times[0] == pytest.approx(4 * (1024 + 50) * MS, rel=0.01)


@pytest.mark.lab
def test_a_new_rate_of_the_link_is_learned(lab: Lab) -> None:
    experiment = dumbbell(
        bulk(cc="reno"),
        queue=QUEUE | {"standing": True},
        schedule=[{"at": "5s", "rate": "5mbit"}],
    )
    samples = lab(experiment).table("queues").filter(pl.col("direction") == "forward")
    for at, rate in ((4, 1.25e6), (9, 0.625e6)):
        now = samples.filter(pl.col("time_ns") < at * SECOND)["rate"][-1]
        assert now == pytest.approx(rate, rel=0.01)


@pytest.mark.lab
@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"target": 0}, 'target "0" is out of range: from 1% to 1000%'),
        ({"bin": "10us"}, 'bin "10us" is out of range: from 100us to 1s'),
        ({"rate": "fast"}, '"fast" is no rate for "rate"'),
        ({"horizon": "1s"}, 'there is no option "horizon"'),
    ],
)
def test_wrong_options_end_the_run(lab: Lab, wrong: dict[str, object], said: str) -> None:
    with pytest.raises(SandglassError, match=said):
        lab(dumbbell(bulk(cc="reno"), queue=QUEUE | wrong, duration="1s"))
