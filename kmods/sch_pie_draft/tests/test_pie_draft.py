"""PIE of 2014: its arithmetic against the draft's rules, and the qdisc in a lab."""

import ctypes
from dataclasses import dataclass
from fractions import Fraction

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandglass.errors import SandglassError
from tests.kmods.userspace import compiled
from tests.lab.experiments import Lab, bulk, dumbbell

CERTAIN = 128 * 10**9
MS, SECOND = 10**6, 10**9
RATE_SAMPLE = 10000
QUEUE = {"kind": "pie_draft", "limit": 1000, "ecn": True, "mark_limit": 100}


class Params(ctypes.Structure):
    _fields_ = [
        ("target", ctypes.c_int64),
        ("tupdate", ctypes.c_int64),
        ("max_burst", ctypes.c_int64),
        ("alpha", ctypes.c_uint32),
        ("beta", ctypes.c_uint32),
        ("rate_sample", ctypes.c_uint32),
        ("bytemode", ctypes.c_bool),
    ]


class Vars(ctypes.Structure):
    _fields_ = [
        ("burst", ctypes.c_int64),
        ("delay", ctypes.c_int64),
        ("prob", ctypes.c_int64),
        ("rate", ctypes.c_uint64),
        ("sampling", ctypes.c_bool),
        ("sample_start", ctypes.c_uint64),
        ("sampled", ctypes.c_uint64),
    ]


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    loaded = compiled("pie_draft", "sch_pie_draft", tmp_path_factory.mktemp("pie_draft"))
    loaded.pie_signals.restype = ctypes.c_bool
    return loaded


@dataclass
class Draft:
    """PIE as the draft words it, in seconds and shares."""

    params: Params
    burst: Fraction = Fraction(0)
    delay: Fraction = Fraction(0)
    prob: Fraction = Fraction(0)

    def update(self, backlog: int, rate: int) -> None:
        before, target = self.delay, Fraction(self.params.target, SECOND)
        # the kernel's clock counts in nanoseconds
        self.delay = Fraction(min(backlog * SECOND // rate, 60 * SECOND) if rate else 0, SECOND)
        gain = Fraction(1, 8) if self.prob < Fraction(1, 100) else Fraction(1, 2)
        gain = gain if self.prob < Fraction(1, 10) else Fraction(1)
        alpha, beta = Fraction(self.params.alpha, 16), Fraction(self.params.beta, 16)
        step = gain * (alpha * (self.delay - target) + beta * (self.delay - before))
        if self.prob >= Fraction(1, 10):
            step = min(step, Fraction(1, 50))
        if self.delay > Fraction(1, 4):
            step += Fraction(1, 50)
        self.prob = min(max(self.prob + step, Fraction(0)), Fraction(1))
        if not self.delay and not before and not backlog:
            self.prob *= Fraction(98, 100)
        self.burst = max(self.burst - Fraction(self.params.tupdate, SECOND), Fraction(0))


times = st.integers(1, 100).map(lambda ms: ms * MS)
params = st.builds(
    Params,
    target=times,
    tupdate=times,
    max_burst=times,
    alpha=st.integers(0, 512),
    beta=st.integers(0, 512),
    rate_sample=st.just(RATE_SAMPLE),
    bytemode=st.just(False),
)
backlogs = st.one_of(st.just(0), st.integers(1, 3 * 10**6), st.integers(1, 2**32 - 1))
rates = st.one_of(st.just(0), st.integers(1, 2**40))


@given(params, rates, st.lists(backlogs, max_size=30))
def test_probability_is_the_drafts(
    library: ctypes.CDLL, params: Params, rate: int, lengths: list[int]
) -> None:
    state, draft = Vars(burst=params.max_burst, rate=rate), Draft(params)
    draft.burst = Fraction(params.max_burst, SECOND)
    for backlog in lengths:
        known, before = state.rate, state.delay
        draft.update(backlog, known)
        library.pie_update(ctypes.byref(params), ctypes.byref(state), ctypes.c_uint32(backlog))
        assert Fraction(state.delay, SECOND) == draft.delay
        # the decay of an empty queue rounds by less than one unit
        assert abs(state.prob - draft.prob * CERTAIN) < 1
        draft.prob = Fraction(state.prob, CERTAIN)
        quiet = max(before, state.delay) < params.target // 2 and state.prob == 0
        if known and quiet:
            draft.burst = Fraction(params.max_burst, SECOND)
        assert (state.rate == 0) == (known == 0 or quiet)
        assert Fraction(state.burst, SECOND) == draft.burst


def test_a_quiet_queue_forgets_its_rate_and_allows_a_burst(library: ctypes.CDLL) -> None:
    params = Params(20 * MS, 30 * MS, 100 * MS, 2, 20, RATE_SAMPLE, False)
    state = Vars(burst=0, rate=10**6)
    library.pie_update(ctypes.byref(params), ctypes.byref(state), 0)
    assert (state.rate, state.burst) == (0, 100 * MS)


@given(
    st.integers(1, 10**7),
    st.integers(40, 9000),
    st.integers(0, 2**60),
    st.integers(1, 60),
)
def test_the_rate_is_measured(
    library: ctypes.CDLL, gap_ns: int, size: int, start: int, packets: int
) -> None:
    """At a constant rate each measurement but the first is exact.

    The first counts a packet more than intervals, as Linux did; each later one weighs an eighth.
    """
    params, state = Params(rate_sample=RATE_SAMPLE), Vars()
    for number in range(packets):
        now = ctypes.c_uint64(start + number * gap_ns)
        library.pie_departed(ctypes.byref(params), ctypes.byref(state), RATE_SAMPLE, size, now)
    exact = Fraction(size * SECOND, gap_ns)
    first = max(-(-RATE_SAMPLE // size), 2)
    later = -(-RATE_SAMPLE // size)
    done = (packets - first) // later + 1 if packets >= first else 0
    if not done:
        assert state.rate == 0
        return
    expected = exact * Fraction(first, first - 1)
    for _ in range(done - 1):
        expected = (7 * expected + exact) / 8
    assert abs(state.rate - expected) <= 9


@given(st.integers(0, CERTAIN), st.integers(0, 2**32 - 1), st.integers(0, 10**6))
def test_signals_come_with_their_probability(
    library: ctypes.CDLL, prob: int, random: int, backlog: int
) -> None:
    params = Params(20 * MS, 30 * MS, 100 * MS, 2, 20, RATE_SAMPLE, False)
    state = Vars(burst=0, delay=20 * MS, prob=prob)

    def signals() -> bool:
        found: bool = library.pie_signals(
            ctypes.byref(params), ctypes.byref(state), backlog, 1514, 1514, ctypes.c_uint32(random)
        )
        return found

    assert signals() == (backlog >= 2 * 1514 and prob * 2**32 // CERTAIN > random)
    state.delay = 20 * MS // 2 - 1  # below half of the target, and signals are rare
    if prob < CERTAIN // 5:
        assert not signals()
    state.delay, state.burst = 20 * MS, 1
    assert not signals()


@pytest.mark.parametrize("size", [100, 700, 1400])
def test_byte_mode_spares_small_packets(library: ctypes.CDLL, size: int) -> None:
    params = Params(20 * MS, 30 * MS, 100 * MS, 2, 20, RATE_SAMPLE, True)
    state = Vars(burst=0, delay=20 * MS, prob=CERTAIN // 2)
    limit = 2**32 * size // 1400 // 2
    answers = [
        library.pie_signals(
            ctypes.byref(params), ctypes.byref(state), 10**6, size, 1400, ctypes.c_uint32(random)
        )
        for random in (limit - 2, limit + 2)
    ]
    assert answers == [True, False]


@pytest.mark.lab
def test_a_standing_queue_is_held_near_the_target(lab: Lab) -> None:
    experiment = dumbbell(
        *(bulk(cc="reno", ecn=True) for _ in range(5)),
        queue=QUEUE,
        duration="30s",
        record=["packets", "queues"],
    )
    run = lab(experiment)
    late = run.packets().filter(pl.col("enqueue_ns") > 10 * SECOND)
    delay = late["sojourn_ns"].mean()
    assert delay is not None
    assert 10 * MS < delay < 30 * MS  # type: ignore[operator]
    assert late["drop_ns"].is_null().all()  # it marks, since all can be marked
    samples = run.table("queues").filter(pl.col("direction") == "forward")
    assert 0 < samples["prob"].max() < 1  # type: ignore[operator]
    # it knows the link's rate, 10 Mb/s, but just after a time without a queue
    assert samples["avg_dq_rate"].median() == pytest.approx(1.25e6, rel=0.01)
    assert run.qdisc()["ecn_mark"] == samples["ecn_mark"][-1] > 0


@pytest.mark.lab
def test_above_mark_limit_it_drops(lab: Lab) -> None:
    """Many flows push the probability above 1 %, where marks end."""
    experiment = dumbbell(
        *(bulk(cc="reno", ecn=True) for _ in range(10)),
        queue=QUEUE | {"mark_limit": 1},
        duration="10s",
        record=["queues"],
    )
    last = lab(experiment).table("queues").filter(pl.col("direction") == "forward")[-1]
    assert last["dropped"].item() > 0


@pytest.mark.lab
@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"mark_limit": 101}, 'mark_limit "101" is out of range: from 1% to 100%'),
        ({"target": "61s"}, "out of range"),
        ({"tupdate": "soon"}, '"soon" is no time for "tupdate"'),
        ({"taget": "20ms"}, 'there is no option "taget"'),
    ],
)
def test_wrong_options_end_the_run(lab: Lab, wrong: dict[str, object], said: str) -> None:
    with pytest.raises(SandglassError, match=said):
        lab(dumbbell(bulk(cc="reno"), queue=QUEUE | wrong, duration="1s"))
