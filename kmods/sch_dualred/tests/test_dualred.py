"""The dual AQM: its arithmetic against two REDs of kmods/red.h, and the qdisc in a lab."""

import ctypes
import re
from ctypes import byref, c_bool, c_int, c_uint32, c_uint64, c_void_p
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kmods.sch_hred.tests.test_hred import replayed
from sandglass.errors import SandglassError
from tests.kmods.test_red import AVG, LONGEST, ONE, Params, Vars, averages, lengths, weights
from tests.kmods.test_red import params as reds
from tests.kmods.userspace import compiled
from tests.lab.experiments import Lab, Mapped, Run, bulk, dumbbell, flow, written
from tests.lab.test_topologies import prompt

PASS, SIGNAL, CUT = range(3)
DROP, MARK = KINDS = range(2)
NOT_ECT, CE = 0, 3
NEVER = 2**32 - 1  # a random number that only certainty signals

# The arithmetic


class DualParams(ctypes.Structure):
    _fields_ = [("red", Params * 2), ("independent", c_bool)]


class DualVars(ctypes.Structure):
    _fields_ = [("red", Vars * 2)]


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    loaded = compiled("dual", "sch_dualred", tmp_path_factory.mktemp("dual"))
    loaded.dual_th_max.argtypes = [c_int, c_uint32]
    loaded.dual_th_max.restype = c_uint32
    loaded.dual_idle.argtypes = [c_void_p, c_void_p, c_uint64]
    loaded.dual_average.argtypes = [c_void_p, c_void_p, c_uint32]
    loaded.dual_arrival.argtypes = [c_void_p, c_void_p, c_int, c_uint32]
    loaded.red_probability.argtypes = [c_void_p, c_uint64]
    loaded.red_probability.restype = c_uint32
    loaded.red_arrival.argtypes = [c_void_p, c_void_p, c_uint32]
    return loaded


def dual(library: ctypes.CDLL, drop: Params, mark: Params, independent: bool = False) -> DualParams:
    for red in (drop, mark):
        library.red_prepare(byref(red))
    return DualParams((Params * 2)(drop, mark), independent)


@given(weights, weights, st.lists(st.tuples(lengths, st.sampled_from(KINDS)), max_size=30))
def test_every_arrival_counts_in_both_averages(
    library: ctypes.CDLL, drop: int, mark: int, arrivals: list[tuple[int, int]]
) -> None:
    """By equation (1), each with its own weight, whichever RED decides on the packet."""
    params = dual(library, Params(1, 1, drop, ONE, False), Params(1, 1, mark, ONE, False))
    state, exact = DualVars(), [Fraction(0), Fraction(0)]
    for length, kind in arrivals:
        library.dual_average(byref(params), byref(state), length)
        library.dual_arrival(byref(params), byref(state), kind, 0)
        for each, weight in enumerate((drop, mark)):
            w = Fraction(weight, ONE)
            exact[each] = (1 - w) * exact[each] + w * length
            assert abs(Fraction(state.red[each].avg, AVG) - exact[each]) < 1 / (AVG * w)


@given(weights, weights, averages, averages, st.integers(0, 200))
def test_an_idle_link_lets_both_averages_decay(
    library: ctypes.CDLL, drop: int, mark: int, of_drop: int, of_mark: int, phantoms: int
) -> None:
    """Phantoms are packets that meet an empty queue."""
    params = dual(library, Params(1, 1, drop, ONE, False), Params(1, 1, mark, ONE, False))
    state, expected = (DualVars((Vars * 2)(Vars(of_drop), Vars(of_mark))) for _ in KINDS)
    library.dual_idle(byref(params), byref(state), phantoms)
    for _ in range(phantoms):
        library.dual_average(byref(params), byref(expected), 0)
    for each, weight in enumerate((drop, mark)):
        before, after = expected.red[each].avg, state.red[each].avg
        assert abs(before - after) <= 64 + phantoms + max(of_drop, of_mark) * ONE // weight // 2**62


decisions = st.lists(
    st.tuples(averages, averages, st.sampled_from(KINDS), st.integers(0, NEVER)), max_size=30
)


@given(reds(), reds(), decisions)
def test_independent_draws_have_the_probability_of_the_red(
    library: ctypes.CDLL, drop: Params, mark: Params, arrivals: list[tuple[int, int, int, int]]
) -> None:
    """Equation (2), whatever became of the packets before."""
    drop.gentle = mark.gentle = False
    params, state = dual(library, drop, mark, independent=True), DualVars()
    for of_drop, of_mark, kind, random in arrivals:
        state.red[DROP].avg, state.red[MARK].avg = of_drop, of_mark
        prob = library.red_probability(byref(params.red[kind]), state.red[kind].avg)
        verdict = library.dual_arrival(byref(params), byref(state), kind, random)
        assert (verdict != PASS) == (Fraction(random, 2**32) < Fraction(prob, ONE))
        assert (verdict == CUT) == (state.red[kind].avg >= params.red[kind].th_max * AVG)


@given(reds(), reds(), decisions)
def test_uniform_distances_are_counted_by_kind(
    library: ctypes.CDLL, drop: Params, mark: Params, arrivals: list[tuple[int, int, int, int]]
) -> None:
    """Packets of the other kind in between change nothing: each is a RED of kmods/red.h."""
    params, state = dual(library, drop, mark), DualVars()
    alone = (Vars * 2)()
    for of_drop, of_mark, kind, random in arrivals:
        state.red[DROP].avg, state.red[MARK].avg = of_drop, of_mark
        alone[kind].avg = state.red[kind].avg
        expected = library.red_arrival(byref(params.red[kind]), byref(alone[kind]), random)
        assert library.dual_arrival(byref(params), byref(state), kind, random) == expected


@given(st.integers(1, LONGEST), st.lists(lengths, min_size=1, max_size=20))
def test_a_step_looks_at_this_queue_alone(
    library: ctypes.CDLL, threshold: int, queue: list[int]
) -> None:
    step = Params(threshold, threshold, ONE, ONE, False)
    params, state = dual(library, Params(1, 1, 1, 0, False), step), DualVars()
    for length in queue:
        library.dual_average(byref(params), byref(state), length)
        verdict = library.dual_arrival(byref(params), byref(state), MARK, NEVER)
        assert verdict == (CUT if length >= threshold else PASS)


@given(lengths)
def test_maximum_thresholds_that_are_not_given(library: ctypes.CDLL, th_min: int) -> None:
    assert library.dual_th_max(DROP, th_min) == min(3 * th_min, LONGEST)
    assert library.dual_th_max(MARK, th_min) == th_min


# In the lab

NEEDED: Mapped = {"kind": "dualred", "rate": "10mbit", "drop_min": 20, "mark_min": 10}
SLOPES = NEEDED | {"mark_max": 50, "mark_probability": 0.2, "mark_weight": 0.01}
STEP = NEEDED | {"bytes": True, "drop_min": "0.5bdp", "mark_min": "0.7bdp"}  # of 50 000 bytes
FULL = 1514


def sharing(queue: Mapped) -> Mapped:
    """A flow without ECN beside one with it."""
    return dumbbell(
        bulk(cc="reno"),
        bulk("s2", "d2", cc="dctcp", ecn=True),
        queue=queue,
        pairs=2,
        duration="20s",
        record=["packets", "queues"],
    )


def samples(run: Run) -> pl.DataFrame:
    return run.table("queues").filter(pl.col("direction") == "forward")


both = pytest.mark.parametrize("queue", [SLOPES, STEP], ids=["slopes", "step"])


@pytest.mark.lab
@both
def test_ecn_capable_packets_are_marked_and_others_dropped(lab: Lab, queue: Mapped) -> None:
    run = lab(sharing(queue))
    packets, counts = run.packets(), run.qdisc()
    plain = packets.filter(pl.col("ecn_in") == NOT_ECT)
    capable = packets.filter(pl.col("ecn_in") != NOT_ECT)
    assert counts["drop_packets"] == plain.height > 0
    assert counts["mark_packets"] == capable.height > 0
    assert counts["early"] + counts["forced"] == plain["drop_ns"].count() > 0
    assert capable["drop_ns"].count() == counts["overlimit"] == 0
    assert (plain["ecn_out"].drop_nulls() == NOT_ECT).all()
    queued = capable["dequeue_ns"].is_null().sum()
    marks = (capable["ecn_out"] == CE).sum()
    assert 0 <= counts["ecn_mark"] + counts["ecn_forced"] - marks <= queued
    assert marks > 0
    assert counts["maxq"] == packets.filter(pl.col("drop_ns").is_null())["queue_packets"].max() + 1  # type: ignore[operator]


@pytest.mark.lab
def test_a_step_marks_what_meets_a_queue_of_at_least_k(lab: Lab) -> None:
    """Each packet, from first to last: there is no chance in it."""
    run = lab(sharing(STEP))
    assert run.qdisc()["ecn_mark"] == 0
    capable = run.packets().filter((pl.col("ecn_in") != NOT_ECT) & pl.col("ecn_out").is_not_null())
    assert ((capable["ecn_out"] == CE) == (capable["queue_bytes"] >= 35_000)).all()
    assert capable["queue_bytes"].is_between(35_000 - FULL, 35_000).any()


@pytest.mark.lab
@pytest.mark.parametrize(
    ("queue", "kind", "weight", "length"),
    [
        (SLOPES, "drop", 0.002, "queue_packets"),
        (SLOPES, "mark", 0.01, "queue_packets"),
        (STEP, "drop", 0.002, "queue_bytes"),
        (STEP, "mark", 1, "queue_bytes"),
    ],
)
def test_averages_and_probabilities_are_those_of_the_packets(
    lab: Lab, queue: Mapped, kind: str, weight: float, length: str
) -> None:
    """What is sampled from the qdisc against a replay of all packets that met it."""
    run = lab(sharing(queue))
    exact = round(weight * ONE) / ONE
    arrivals = pl.DataFrame(
        replayed(run.packets(), exact, FULL, length),
        schema={"time_ns": pl.Int64, "replayed": pl.Float64},
        orient="row",
    )
    # of a sample and an arrival in one nanosecond either may have come first
    apart = samples(run).join(arrivals, on="time_ns", how="anti", maintain_order="left")
    found = apart.join_asof(arrivals, on="time_ns").drop_nulls("replayed")
    scale = FULL if length == "queue_bytes" else 1
    assert found["replayed"].max() > 10 * scale  # type: ignore[operator]
    error = (found[f"{kind}_avg"] - found["replayed"]).abs().max()
    assert error < 1e-4 * scale  # type: ignore[operator]
    options = run.qdisc()["options"]
    low, high = options[f"{kind}_min"], options[f"{kind}_max"]
    avg, probability = found[f"{kind}_avg"], options[f"{kind}_probability"]
    expected = pl.select(
        pl.when(avg >= high)
        .then(1.0)
        .otherwise(((avg - low) / max(high - low, 1) * probability).clip(lower_bound=0))
    ).to_series()
    assert (found[f"{kind}_prob"] - expected).abs().max() < 1e-6  # type: ignore[operator]


@pytest.mark.lab
def test_both_kinds_lose_what_the_buffer_has_no_room_for(lab: Lab) -> None:
    """No RED signals below thresholds that the buffer does not reach."""
    queue = NEEDED | {"limit": 30, "drop_min": 40, "mark_min": 40}
    run = lab(
        dumbbell(
            flow("udp", rate="7mbit"),
            flow("udp", "s2", "d2", rate="9mbit", ecn=True),  # not in step with the other
            queue=queue,
            pairs=2,
            duration="5s",
            record=["packets", "queues"],
        )
    )
    counts, lost = run.qdisc(), run.packets().filter(pl.col("drop_ns").is_not_null())
    assert set(lost["drop"]) == {"overlimit"}
    assert lost["ecn_in"].n_unique() == 2
    assert counts["overlimit"] == counts["drops"] == lost.height
    assert counts["maxq"] == 30
    assert [counts[name] for name in ("early", "forced", "ecn_mark", "ecn_forced")] == [0] * 4


@pytest.mark.lab
def test_distances_are_uniform_or_independent(lab: Lab) -> None:
    """At a standing queue: at most 1/p packets from one mark to the next, or any number."""
    standing = NEEDED | {
        "limit": 60, "drop_min": 2000, "drop_max": 2001, "mark_min": 0, "mark_max": 1000
    }  # fmt: skip

    def longest(independent: bool) -> int:
        run = lab(
            dumbbell(
                flow("udp", rate="12mbit", ecn=True),
                queue=standing | {"independent": independent},
                duration="20s",
                record=["packets", "queues"],
            )
        )
        settled = run.packets().filter(
            (pl.col("enqueue_ns") > 2 * 10**9) & pl.col("dequeue_ns").is_not_null()
        )
        assert settled["queue_packets"].min() >= 58  # type: ignore[operator]
        marks = (settled["ecn_out"] == CE).arg_true().to_list()
        distances = [int(after - before) for before, after in pairwise(marks)]
        return max(distances)

    # p is 0.058 to 0.06
    assert longest(independent=False) <= 18
    assert longest(independent=True) > 36


@pytest.mark.lab
def test_options_are_what_was_given_or_the_papers(lab: Lab) -> None:
    assert lab(sharing(SLOPES)).qdisc()["options"] == {
        "rate": 1250000,
        "limit": 1000,
        "avpkt": FULL,
        "bytes": False,
        "independent": False,
        "drop_min": 20,
        "drop_max": 60,
        "drop_probability": 0.1,
        "drop_weight": 0.002,
        "mark_min": 10,
        "mark_max": 50,
        "mark_probability": 0.2,
        "mark_weight": 0.01,
    }
    step = lab(sharing(STEP)).qdisc()["options"]
    found = {name: step[name] for name in step if name.startswith(("bytes", "drop_m", "mark"))}
    assert found == {
        "bytes": True,
        "drop_min": 25000,
        "drop_max": 75000,
        "mark_min": 35000,
        "mark_max": 35000,
        "mark_probability": 1,
        "mark_weight": 1,
    }


@pytest.mark.lab
@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"drop_max": 19}, "drop_min is above drop_max"),
        ({"mark_max": 9}, "mark_min is above mark_max"),
        ({"mark_min": 0}, "with a min of 0 its max is needed, at least 1"),
        ({"mark_probability": 1.5}, '"1.5" is no fraction for "mark_probability"'),
        ({"drop_weight": 0}, 'drop_weight "0" is out of range: from 4.65661e-10 to 1'),
        ({"drop_min": "many"}, '"many" is no number for "drop_min"'),
        ({"rate": "fast"}, '"fast" is no rate for "rate"'),
        ({"rate": "0bit"}, 'rate "0bit" is out of range: from 8bit to 800000000000bit'),
        ({"limit": 4194305}, 'limit "4194305" is out of range: from 1p to 4194304p'),
        ({"avpkt": 63}, 'avpkt "63" is out of range: from 64b to 65549b'),
        ({"ecn": True}, 'there is no option "ecn"'),
    ],
)
def test_wrong_options_end_the_run(lab: Lab, wrong: Mapped, said: str) -> None:
    with pytest.raises(SandglassError, match=said):
        lab(dumbbell(bulk(cc="reno"), queue=NEEDED | wrong, duration="1s"))


@pytest.mark.lab
@pytest.mark.parametrize("missing", ["rate", "drop_min", "mark_min"])
def test_what_has_no_default_is_needed(lab: Lab, missing: str) -> None:
    queue = {name: value for name, value in NEEDED.items() if name != missing}
    with pytest.raises(SandglassError, match="rate, drop_min and mark_min are needed"):
        lab(dumbbell(bulk(cc="reno"), queue=queue, duration="1s"))


@pytest.mark.lab
def test_options_can_be_changed(tmp_path: Path) -> None:
    change = "r1 tc qdisc change dev r1-eth0 parent 1:1 handle 10: dualred"
    show = "r1 tc qdisc show dev r1-eth0"
    said = prompt(
        str(written(sharing(NEEDED), tmp_path / "dualred.yaml")),
        *[show, f"{change} drop_min 25 mark_max 40 independent limit 80", show],
        *[f"{change} bytes drop_min 3000 mark_min 2000 mark_max 0 noindependent", show],
    )
    link = "dualred 10: parent 1:1 rate 10Mbit limit"
    drop, mark = "drop_probability 0.1 drop_weight 0.002", "mark_probability 1 mark_weight 1"
    assert re.findall(r"qdisc (dualred .*)", said) == [
        f"{link} 1000p avpkt 1514b drop_min 20 drop_max 60 {drop} mark_min 10 mark_max 10 {mark} ",
        f"{link} 80p avpkt 1514b independent drop_min 25 drop_max 75 {drop} "
        f"mark_min 10 mark_max 40 {mark} ",
        f"{link} 80p avpkt 1514b bytes drop_min 3000 drop_max 9000 {drop} "
        f"mark_min 2000 mark_max 2000 {mark} ",
    ]
