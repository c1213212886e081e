"""PI2: its arithmetic against the paper's law, and the qdisc in a lab."""

import ctypes
import math
from fractions import Fraction

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandglass.errors import SandglassError
from tests.kmods.userspace import compiled
from tests.lab.experiments import Lab, Run, bulk, dumbbell, flow

CERTAIN = 16 * 10**9
MS, SECOND = 10**6, 10**9
MTU = 1514
QUEUE = {"kind": "pi2", "limit": 1000, "ecn": True}


class Params(ctypes.Structure):
    _fields_ = [
        ("target", ctypes.c_int64),
        ("alpha", ctypes.c_uint32),
        ("beta", ctypes.c_uint32),
    ]


class Vars(ctypes.Structure):
    _fields_ = [("delay", ctypes.c_int64), ("pseudo_prob", ctypes.c_int64)]


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    loaded = compiled("pi2", "sch_pi2", tmp_path_factory.mktemp("pi2"))
    loaded.pi2_signals.restype = ctypes.c_bool
    return loaded


params = st.builds(
    Params,
    target=st.integers(0, 60 * SECOND),
    alpha=st.integers(0, 512),
    beta=st.integers(0, 512),
)
delays = st.one_of(st.integers(0, 100 * MS), st.integers(0, 2**64 - 1))
numbers = st.integers(0, 2**32 - 1)


@given(params, st.lists(delays, max_size=30))
def test_the_controller_is_the_papers(
    library: ctypes.CDLL, params: Params, delays: list[int]
) -> None:
    """In seconds, hertz and shares; exact for delays up to a minute, which is the longest."""
    state = Vars()
    alpha, beta = Fraction(params.alpha, 16), Fraction(params.beta, 16)
    target, before, pseudo_prob = Fraction(params.target, SECOND), Fraction(0), Fraction(0)
    for ns in delays:
        delay = min(Fraction(ns, SECOND), Fraction(60))
        pseudo_prob += alpha * (delay - target) + beta * (delay - before)
        pseudo_prob = min(max(pseudo_prob, Fraction(0)), Fraction(1))
        before = delay
        library.pi2_update(ctypes.byref(params), ctypes.byref(state), ctypes.c_uint64(ns))
        assert Fraction(state.pseudo_prob, CERTAIN) == pseudo_prob
        assert Fraction(state.delay, SECOND) == delay


@given(st.integers(0, CERTAIN), numbers, numbers)
def test_a_signal_needs_two_random_numbers_below_the_pseudo_probability(
    library: ctypes.CDLL, pseudo_prob: int, first: int, second: int
) -> None:
    """So that its probability is the square: each number is below it independently.

    Of the 2^32 numbers those below p' * 2^32, rounded down, are.
    """
    state = Vars(pseudo_prob=pseudo_prob)
    share = Fraction(pseudo_prob, CERTAIN)
    below = [number < math.floor(share * 2**32) for number in (first, second)]
    for backlog in (2 * MTU, 2**32 - 1):
        assert signals(library, state, backlog, first, second) == all(below)
    assert not signals(library, state, 2 * MTU - 1, first, second)


def signals(library: ctypes.CDLL, state: Vars, backlog: int, first: int, second: int) -> bool:
    found: bool = library.pi2_signals(
        ctypes.byref(state),
        ctypes.c_uint32(backlog),
        MTU,
        ctypes.c_uint32(first),
        ctypes.c_uint32(second),
    )
    return found


def settled(run: Run) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Packets and samples of the forward queue from 10 s on."""
    samples = run.table("queues").filter(pl.col("direction") == "forward")
    return (
        run.packets().filter(pl.col("enqueue_ns") > 10 * SECOND),
        samples.filter(pl.col("time_ns") > 10 * SECOND),
    )


@pytest.mark.lab
@pytest.mark.parametrize("ecn", [True, False])
def test_a_standing_queue_is_held_near_the_target(lab: Lab, ecn: bool) -> None:
    """By marks or by drops on arrival, as often as the square of the pseudo-probability says."""
    experiment = dumbbell(
        *(bulk(cc="reno", ecn=ecn) for _ in range(5)),
        queue=QUEUE | {"ecn": ecn},
        duration="60s",
        record=["packets", "queues"],
    )
    run = lab(experiment)
    packets, samples = settled(run)
    assert packets["sojourn_ns"].mean() == pytest.approx(20 * MS, rel=0.15)
    marks, drops = (packets["ecn_out"] == 3).sum(), packets["drop"].drop_nulls()
    assert (marks > 0, len(drops) > 0) == (ecn, not ecn)
    assert (drops == "aqm_enqueue").all()
    # some 570 of 41000 packets: a standard deviation is 4 %
    share = (samples["pseudo_prob"] ** 2).mean()
    assert (marks + len(drops)) / len(packets) == pytest.approx(share, rel=0.15)
    assert samples["prob"].to_list() == pytest.approx((samples["pseudo_prob"] ** 2).to_list())
    # tc, the recorder's samples and its packets say the same
    shown, last, recorded = run.qdisc(), samples[-1], run.packets()
    assert shown["dropped"] == last["dropped"].item() == recorded["drop"].count()
    assert shown["ecn_mark"] == last["ecn_mark"].item()
    still_queued = recorded["dequeue_ns"].is_null() & recorded["drop_ns"].is_null()
    assert 0 <= shown["ecn_mark"] - (recorded["ecn_out"] == 3).sum() <= still_queued.sum()


@pytest.mark.lab
def test_what_does_not_respond_loses_its_excess(lab: Lab) -> None:
    """Then arithmetic alone gives the share of drops: what arrives above the link's rate."""
    excess = 1 - 10 * 1472 / (12 * MTU)
    experiment = dumbbell(
        flow("udp", rate="12mbit"), queue=QUEUE, duration="30s", record=["packets", "queues"]
    )
    packets, samples = settled(lab(experiment))
    assert packets["sojourn_ns"].mean() == pytest.approx(20 * MS, rel=0.1)
    assert packets["drop"].count() / len(packets) == pytest.approx(excess, rel=0.02)
    assert samples["pseudo_prob"].mean() == pytest.approx(math.sqrt(excess), rel=0.02)


@pytest.mark.lab
def test_marks_do_not_hold_what_does_not_respond(lab: Lab) -> None:
    """There is no switch to drops: the queue grows to its limit, which is kept."""
    experiment = dumbbell(
        flow("udp", rate="12mbit", ecn=True),
        queue=QUEUE | {"limit": 50},
        record=["packets", "queues"],
    )
    run = lab(experiment)
    packets = run.packets()
    drops = packets["drop"].drop_nulls()
    assert len(drops) > 0
    assert (drops == "overlimit").all()
    assert run.qdisc()["overlimit"] == run.qdisc()["dropped"] == len(drops)
    assert run.qdisc()["maxq"] == 50


@pytest.mark.lab
@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"alpha": 513}, 'alpha "513" is out of range: from 0 to 512'),
        ({"tupdate": "61s"}, "out of range"),
        ({"target": "soon"}, '"soon" is no time for "target"'),
        ({"bytemode": True}, 'there is no option "bytemode"'),
    ],
)
def test_wrong_options_end_the_run(lab: Lab, wrong: dict[str, object], said: str) -> None:
    with pytest.raises(SandglassError, match=said):
        lab(dumbbell(bulk(cc="reno"), queue=QUEUE | wrong, duration="1s"))
