"""RED's arithmetic, kmods/red.h, against equations (1) to (4) of the thesis in exact numbers."""

import ctypes
from ctypes import byref, c_bool, c_int, c_uint32, c_uint64
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal, localcontext
from fractions import Fraction
from math import floor
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.kmods.userspace import compiled

ONE = 2**31
AVG = 2**32  # a packet or byte of the average
LONGEST = 2**32 - 1
PASS, SIGNAL, CUT = range(3)


class Params(ctypes.Structure):
    _fields_ = [
        ("th_min", c_uint32),
        ("th_max", c_uint32),
        ("weight", c_uint32),
        ("max_p", c_uint32),
        ("gentle", c_bool),
        ("slope", c_uint64),
        ("gentle_slope", c_uint64),
    ]


class Vars(ctypes.Structure):
    _fields_ = [("avg", c_uint64), ("count", c_uint32)]


ARGUMENTS: dict[str, tuple[Any, list[Any]]] = {
    "red_prepare": (None, [ctypes.c_void_p]),
    "red_average": (c_uint64, [c_uint64, c_uint32, c_uint32]),
    "red_phantom_rate": (c_uint64, [c_uint64, c_uint32]),
    "red_phantoms": (c_uint64, [c_uint64, c_uint64]),
    "red_idle": (c_uint64, [c_uint64, c_uint32, c_uint64]),
    "red_probability": (c_uint32, [ctypes.c_void_p, c_uint64]),
    "red_signals": (c_bool, [c_uint32, c_uint32, c_uint32]),
    "red_arrival": (c_int, [ctypes.c_void_p, ctypes.c_void_p, c_uint32]),
}


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    loaded = compiled("red", ".", tmp_path_factory.mktemp("red"))
    for name, (result, arguments) in ARGUMENTS.items():
        function = getattr(loaded, name)
        function.restype, function.argtypes = result, arguments
    return loaded


def prepared(library: ctypes.CDLL, params: Params) -> Params:
    library.red_prepare(byref(params))
    return params


lengths = st.one_of(st.integers(0, 200), st.integers(0, LONGEST))
weights = st.one_of(st.integers(1, ONE), st.sampled_from([2**11, ONE // 500, ONE // 2, ONE]))
averages = st.one_of(st.integers(0, 300 * AVG), st.integers(0, LONGEST * AVG))


@st.composite
def params(draw: st.DrawFn) -> Params:
    th_min, th_max = sorted([draw(lengths), max(1, draw(lengths))])
    return Params(th_min, max(1, th_max), ONE, draw(st.integers(0, ONE)), draw(st.booleans()))


# Equation (1)


@given(weights, st.lists(lengths, max_size=40))
def test_the_average_is_within_what_the_header_says(
    library: ctypes.CDLL, weight: int, queue: list[int]
) -> None:
    avg, exact, w = 0, Fraction(0), Fraction(weight, ONE)
    for length in queue:
        avg = library.red_average(avg, weight, length)
        exact = (1 - w) * exact + w * length
        assert abs(Fraction(avg, AVG) - exact) < 1 / (AVG * w)


@pytest.mark.parametrize("length", [1, 1000, LONGEST])
@pytest.mark.parametrize("weight", [2**11, ONE // 500])  # 2^-20; that of recommended RED
def test_errors_do_not_add_up(library: ctypes.CDLL, weight: int, length: int) -> None:
    avg, packets = 0, 20000
    for _ in range(packets):
        avg = library.red_average(avg, weight, length)
    with localcontext(Context(prec=60)):
        left = (Decimal(ONE - weight) / ONE) ** packets
        assert abs(Decimal(avg) / AVG - (1 - left) * length) < Decimal(ONE) / (AVG * weight)


@given(averages, weights, lengths)
def test_the_average_moves_towards_the_queue_and_not_past_it(
    library: ctypes.CDLL, avg: int, weight: int, length: int
) -> None:
    after = library.red_average(avg, weight, length)
    low, high = sorted([avg, length * AVG])
    assert low <= after <= high
    if weight == ONE:
        assert after == length * AVG


# Equation (4)


@given(st.integers(1, 10**11), st.integers(64, 65549), st.integers(0, 2**63))
@example(1250000, 1514, 3 * 1211200)  # whole transmission times
def test_phantoms_are_the_packets_that_the_link_could_send(
    library: ctypes.CDLL, rate: int, size: int, ns: int
) -> None:
    found = library.red_phantoms(library.red_phantom_rate(rate, size), ns)
    ns = min(ns, 2**60 - 1)
    exact = Fraction(rate * ns, size * 10**9)
    assert floor(exact) <= found <= floor(exact + Fraction(ns, 2**60))


phantoms = st.one_of(st.integers(0, 1000), st.integers(0, 2**64 - 1))


@given(averages, weights, phantoms)
def test_an_idle_link_lets_the_average_decay(
    library: ctypes.CDLL, avg: int, weight: int, phantoms: int
) -> None:
    found = library.red_idle(avg, weight, phantoms)
    with localcontext(Context(prec=60, Emin=MIN_EMIN, Emax=MAX_EMAX)):
        # 0 to the power of 0: no phantom, no decay
        power = (Decimal(ONE - weight) / ONE) ** phantoms if phantoms else Decimal(1)
        error = avg * power - found
        assert error > -(Decimal(10) ** -30)
        assert error < avg * Decimal(ONE) / weight / 2**62 + 64


@given(averages, weights, st.integers(0, 200))
def test_phantoms_are_packets_that_meet_an_empty_queue(
    library: ctypes.CDLL, avg: int, weight: int, phantoms: int
) -> None:
    one_by_one = avg
    for _ in range(phantoms):
        one_by_one = library.red_average(one_by_one, weight, 0)
    at_once = library.red_idle(avg, weight, phantoms)
    assert abs(one_by_one - at_once) <= 64 + phantoms + avg * ONE // weight // 2**62


# Equation (2)


def initial(params: Params, avg: Fraction) -> Fraction:
    """Equation (2), and GRED's second slope."""
    th_min, th_max = Fraction(params.th_min), Fraction(params.th_max)
    max_p = Fraction(params.max_p, ONE)
    if avg < th_min:
        return Fraction(0)
    if avg < th_max:
        return max_p * (avg - th_min) / (th_max - th_min)
    if not params.gentle or avg >= 2 * th_max:
        return Fraction(1)
    return max_p + (1 - max_p) * (avg - th_max) / th_max


@st.composite
def situations(draw: st.DrawFn) -> tuple[Params, list[int]]:
    """Parameters, and averages near their thresholds and anywhere."""
    chosen = draw(params())
    corners = [chosen.th_min, chosen.th_max, 2 * chosen.th_max]
    near = st.sampled_from(corners).flatmap(
        lambda length: st.integers(length * AVG - 2, length * AVG + 2)
    )
    between = st.integers(chosen.th_min * AVG, 2 * chosen.th_max * AVG)
    anywhere = st.one_of(near, between, averages)
    within = anywhere.map(lambda avg: min(max(avg, 0), LONGEST * AVG))
    return chosen, draw(st.lists(within, min_size=1, max_size=10))


@given(situations())
def test_probability_is_that_of_the_equation(
    library: ctypes.CDLL, situation: tuple[Params, list[int]]
) -> None:
    params, averages = situation
    prepared(library, params)
    found = [library.red_probability(byref(params), avg) for avg in sorted(averages)]
    for avg, prob in zip(sorted(averages), found, strict=True):
        assert 0 <= initial(params, Fraction(avg, AVG)) - Fraction(prob, ONE) < Fraction(2, ONE)
    assert found == sorted(found)


@pytest.mark.parametrize("gentle", [False, True])
def test_equal_thresholds_make_a_step(library: ctypes.CDLL, gentle: bool) -> None:
    params = prepared(library, Params(20, 20, ONE, ONE // 4, gentle))
    below, above = (library.red_probability(byref(params), 20 * AVG - n) for n in (1, 0))
    assert (below, above) == (0, ONE // 4 if gentle else ONE)


# Equation (3)


@given(st.integers(0, ONE), st.integers(0, LONGEST), st.integers(0, 2**32 - 1))
def test_a_packet_is_signalled_with_the_final_probability(
    library: ctypes.CDLL, prob: int, count: int, random: int
) -> None:
    p = Fraction(prob, ONE)
    certain = count * p >= 1
    assert library.red_signals(prob, count, random) == (
        certain or Fraction(random, 2**32) < p / (1 - count * p)
    )


def chance(library: ctypes.CDLL, prob: int, count: int) -> Fraction:
    """The share of all random numbers that lead to a signal: those below some number."""
    low, high = 0, 2**32
    while low < high:
        middle = (low + high) // 2
        if library.red_signals(prob, count, middle):
            low = middle + 1
        else:
            high = middle
    return Fraction(low, 2**32)


@pytest.mark.parametrize("longest", [1, 2, 3, 10, 50, 300])
def test_the_distance_between_signals_is_uniform(library: ctypes.CDLL, longest: int) -> None:
    """From 1 to 1/p packets, by the exact distribution and not by a sample."""
    prob = ONE // longest
    left = Fraction(1)
    for distance in range(1, longest + 1):
        here = left * chance(library, prob, distance - 1)
        assert abs(here - Fraction(1, longest)) < Fraction(longest, 2**30)
        left -= here
    assert left < Fraction(longest**2, 2**30)


# The three of them for one packet


def arrivals(library: ctypes.CDLL, params: Params, averages: list[int]) -> list[int]:
    """Verdicts with the largest random number, which a signal follows only when it must."""
    state = Vars()
    verdicts = []
    for avg in averages:
        state.avg = avg * AVG
        verdicts.append(library.red_arrival(byref(params), byref(state), 2**32 - 1))
    return verdicts


def test_packets_are_counted_from_the_last_signal(library: ctypes.CDLL) -> None:
    params = prepared(library, Params(10, 30, ONE, -(-ONE // 5), False))
    found = arrivals(library, params, [20] * 40)
    assert [n for n, verdict in enumerate(found, 1) if verdict == SIGNAL] == [10, 20, 30, 40]


def test_packets_are_counted_from_where_signals_begin(library: ctypes.CDLL) -> None:
    params = prepared(library, Params(10, 30, ONE, -(-ONE // 5), False))
    found = arrivals(library, params, [20] * 9 + [9] * 5 + [20] * 10)
    assert found == [PASS] * 23 + [SIGNAL]


@pytest.mark.parametrize(("gentle", "cut"), [(False, 30), (True, 60)])
def test_above_the_last_threshold_nothing_passes(
    library: ctypes.CDLL, gentle: bool, cut: int
) -> None:
    params = prepared(library, Params(10, 30, ONE, ONE // 10, gentle))
    assert arrivals(library, params, [cut - 1, cut, cut, LONGEST]) == [*[PASS, CUT, CUT, CUT]]


@given(situations(), st.integers(0, 2**32 - 1))
def test_the_verdict_follows_the_region(
    library: ctypes.CDLL, situation: tuple[Params, list[int]], random: int
) -> None:
    params, averages = situation
    prepared(library, params)
    for avg in averages:
        state = Vars(avg, 3)
        verdict = library.red_arrival(byref(params), byref(state), random)
        below = Fraction(avg, AVG) < params.th_min
        last = params.th_max << params.gentle
        assert (verdict == CUT) == (Fraction(avg, AVG) >= last)
        assert verdict == PASS or not below
        assert state.count == (4 if verdict == PASS and not below else 0)
