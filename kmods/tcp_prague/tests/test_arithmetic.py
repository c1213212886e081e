"""The arithmetic of TCP Prague, against exact fractions and against published numbers.

What is expected of alpha, of a cut, of a loss and of RTT independence are formulas of
draft-briscoe-iccrg-prague-congestion-control-01; the integers are those of L4STeam's module 0.6.
"""

import ctypes
from fractions import Fraction
from math import floor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.kmods.userspace import compiled

PACKET = 1 << 20  # a window of 1
ONE = 1 << 24  # alpha of 1
LARGEST = 1 << 23  # packets
U32, U64 = ctypes.c_uint32, ctypes.c_uint64
FUNCTIONS = {
    "prague_alpha": (U32, [U32, U32, U32]),
    "prague_bounded": (U64, [U64]),
    "prague_reduced": (U64, [U64, U32]),
    "prague_after_loss": (U64, [U64, U32, U32, U32]),
    "prague_rtt": (U32, [U32, U32, U32]),
    "prague_increase_per_rtt": (U32, [U32, U32]),
    "prague_increase": (U64, [U64, U32, U32]),
    "prague_packets": (U32, [U64]),
    "prague_pacing_rate": (U64, [U32, U32, U32, ctypes.c_bool]),
}
NONE, WHOLE, LINEAR = range(3)  # PRAGUE_CREDIT_*
REAL, MAX, SUM = range(3)  # PRAGUE_RTT_*

alphas = st.integers(0, ONE)
windows = st.integers(2 * PACKET, LARGEST * PACKET)
counts = st.integers(1, (1 << 32) - 1)


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    loaded = compiled("prague", "tcp_prague", tmp_path_factory.mktemp("prague"))
    for name, (result, arguments) in FUNCTIONS.items():
        function = getattr(loaded, name)
        function.restype, function.argtypes = result, arguments
    return loaded


# --- alpha ----------------------------------------------------------------------------------------


@given(alpha=alphas, delivered=counts, marked=counts)
def test_alpha_is_the_moving_average(
    library: ctypes.CDLL, alpha: int, delivered: int, marked: int
) -> None:
    found = library.prague_alpha(alpha, delivered, marked)
    share = min(Fraction(marked, delivered), Fraction(1))
    exact = alpha + (share * ONE - alpha) / 16
    assert 0 <= found <= ONE
    assert -1 < found - exact < 1  # each of the two terms is rounded down to 2^-24


@given(alpha=alphas, delivered=st.integers(1, 1000))
def test_more_marks_never_give_a_smaller_alpha(
    library: ctypes.CDLL, alpha: int, delivered: int
) -> None:
    found = [library.prague_alpha(alpha, delivered, marked) for marked in range(delivered + 1)]
    assert found == sorted(found)


@pytest.mark.parametrize(
    ("alpha", "shares", "expected"),
    [
        # from 0, all marked: 1 - (15/16)^n; from 1, none; from 1, a tenth; from 0, half a round
        (0, [1000], [0.0625, 0.1211, 0.2275, 0.4033, 0.6439, 0.8732, 0.9839]),
        (ONE, [0], [0.9375, 0.8789, 0.7725, 0.5967, 0.3561, 0.1268, 0.0161]),
        (ONE, [100], [0.9437, 0.8910, 0.7952, 0.6370, 0.4205, 0.2141, 0.1145]),
        (0, [500, 0], [0.0313, 0.0293, 0.0257, 0.0199, 0.0119, 0.0042, 0.0005]),
    ],
)
def test_alpha_after_1_2_4_to_64_rounds(
    library: ctypes.CDLL, alpha: int, shares: list[int], expected: list[float]
) -> None:
    """Of `shares` the last one is that of all further rounds, per thousand packets."""
    found = []
    for number in range(64):
        alpha = library.prague_alpha(alpha, 1000, shares[min(number, len(shares) - 1)])
        found.append(alpha / ONE)
    assert [found[n - 1] for n in (1, 2, 4, 8, 16, 32, 64)] == pytest.approx(expected, abs=6e-5)


@pytest.mark.parametrize(
    ("alpha", "marked", "expected"),
    [
        (
            ONE,
            0,
            [15728640, 14745600, 13824000, 12960000, 12150000, 11390625, 10678711, 10011292],
        ),
        (0, 7, [1048576, 2031616, 2953216, 3817216, 4627216, 5386591, 6098506, 6765926]),
    ],
)
def test_alpha_in_the_integers_of_the_linux_module(
    library: ctypes.CDLL, alpha: int, marked: int, expected: list[int]
) -> None:
    found = []
    for _ in expected:
        alpha = library.prague_alpha(alpha, 7, marked)
        found.append(alpha)
    assert found == expected


def test_alpha_comes_to_one_and_to_less_than_a_cut_can_see(library: ctypes.CDLL) -> None:
    """It sticks at 15 units of 2^-24, whose cut is none up to a window of 10^6 packets."""
    alpha = 0
    for _ in range(1000):
        alpha = library.prague_alpha(alpha, 1, 1)
    assert alpha == ONE
    for _ in range(1000):
        alpha = library.prague_alpha(alpha, 1, 0)
    assert alpha == 15
    assert library.prague_reduced(10**6 * PACKET, alpha) == 10**6 * PACKET


def test_rounds_without_marks_pass_through_alpha(library: ctypes.CDLL) -> None:
    alpha = ONE
    for _ in range(100):
        alpha = library.prague_alpha(alpha, 100, 0)
    assert alpha / ONE == pytest.approx(0.0016, abs=5e-5)
    left = library.prague_reduced(1000 * PACKET, alpha) / PACKET
    assert 1 - left / 1000 == pytest.approx(0.0008, abs=3e-5)


# --- Reductions -----------------------------------------------------------------------------------


@given(window=windows, alpha=alphas)
def test_a_mark_takes_half_of_alpha_with_its_fraction(
    library: ctypes.CDLL, window: int, alpha: int
) -> None:
    exact = window * (1 - Fraction(alpha >> 4, 2 << 20))
    found = library.prague_reduced(window, alpha)
    assert abs(found - max(exact, 2 * PACKET)) <= Fraction(1, 2)


@pytest.mark.parametrize(("alpha", "left"), [(ONE // 10, 95), (ONE, 50), (0, 100)])
def test_what_a_mark_leaves_of_a_hundred(library: ctypes.CDLL, alpha: int, left: int) -> None:
    assert library.prague_reduced(100 * PACKET, alpha) / PACKET == pytest.approx(left, abs=1e-4)


def test_less_than_a_packet_is_carried(library: ctypes.CDLL) -> None:
    """50 packets at alpha 0.04: cwnd stays, and the next cut begins from 49."""
    window = library.prague_reduced(50 * PACKET, 41943 << 4)
    assert window == 49 * PACKET + 1
    assert library.prague_packets(window) == 50
    assert library.prague_packets(library.prague_reduced(window, 41943 << 4)) == 49


@pytest.mark.parametrize(
    ("percent", "credit", "left"),
    [
        (50, NONE, [0.5, 0.475, 0.425, 0.25]),
        (50, WHOLE, [0.5, 0.5, 0.5, 0.5]),
        (50, LINEAR, [0.5, 0.4988, 0.4888, 0.375]),
        (70, WHOLE, [0.7, 0.7, 0.7, 0.5]),  # 7/5 > 1 at alpha 1: no further cut
    ],
)
def test_a_mark_and_a_loss_in_one_round(
    library: ctypes.CDLL, percent: int, credit: int, left: list[float]
) -> None:
    """What is left in all, at alpha 0, 0.1, 0.3 and 1."""
    found = []
    for alpha in (0, ONE // 10, 3 * ONE // 10, ONE):
        window = library.prague_reduced(1000 * PACKET, alpha)
        found.append(library.prague_after_loss(window, percent, alpha, credit) / (1000 * PACKET))
    assert found == pytest.approx(left, abs=6e-5)


@given(window=windows, percent=st.integers(1, 100), alpha=alphas, credit=st.integers(0, 2))
def test_a_loss_leaves_its_share_and_what_credit_gives_back(
    library: ctypes.CDLL, window: int, percent: int, alpha: int, credit: int
) -> None:
    share = Fraction(alpha, ONE)
    given_back = {NONE: Fraction(1), WHOLE: 2 / (2 - share), LINEAR: 1 + share / 2}[credit]
    exact = min(window * Fraction(percent, 100) * given_back, Fraction(window))
    found = library.prague_after_loss(window, percent, alpha, credit)
    assert abs(found - max(exact, 2 * PACKET)) <= 2
    assert found <= window


# --- Increase -------------------------------------------------------------------------------------


@given(srtt=st.integers(0, 10**7), target=st.integers(1, 10**6))
def test_the_virtual_rtt(library: ctypes.CDLL, srtt: int, target: int) -> None:
    assert library.prague_rtt(srtt, REAL, target) == srtt
    assert library.prague_rtt(srtt, MAX, target) == max(srtt, target)
    assert library.prague_rtt(srtt, SUM, target) == srtt + target


@pytest.mark.parametrize(
    ("ms", "units", "per_s2"),
    [
        (5, 41943, 1600),
        (10, 167772, 1600),
        (20, 671089, 1600),
        (25, 1048576, 1600),
        (50, 1048576, 400),
        (100, 1048576, 100),
    ],
)
def test_below_25_ms_the_rate_grows_alike(
    library: ctypes.CDLL, ms: int, units: int, per_s2: int
) -> None:
    srtt = ms * 1000
    found = library.prague_increase_per_rtt(srtt, library.prague_rtt(srtt, MAX, 25000))
    assert found == units
    # a packet more in the window is 1/RTT more per second, each RTT
    assert found / PACKET / (ms / 1000) ** 2 == pytest.approx(per_s2, rel=1e-4)


@given(srtt=st.integers(0, 10**7), mode=st.integers(0, 2), target=st.integers(1, 10**6))
def test_the_increase_is_the_square_of_the_ratio(
    library: ctypes.CDLL, srtt: int, mode: int, target: int
) -> None:
    rtt = library.prague_rtt(srtt, mode, target)
    found = library.prague_increase_per_rtt(srtt, rtt)
    assert found <= PACKET
    if srtt <= 1 << 21 and rtt:
        assert abs(found - PACKET * Fraction(srtt, rtt) ** 2) <= Fraction(1, 2)
    else:  # two seconds and more
        assert found == PACKET


@given(window=windows, packets=st.integers(1, 1 << 23), per_rtt=st.integers(0, PACKET))
def test_a_window_of_packets_adds_what_an_rtt_adds(
    library: ctypes.CDLL, window: int, packets: int, per_rtt: int
) -> None:
    exact = packets * per_rtt * Fraction(PACKET, window)
    found = library.prague_increase(window, packets, per_rtt)
    assert abs(found - exact) <= Fraction(1, 2) or found == packets > exact


@pytest.mark.parametrize(("marked", "grown"), [(0, 1.0), (10, 0.9)])
def test_marked_packets_add_nothing(library: ctypes.CDLL, marked: int, grown: float) -> None:
    """100 ACKs of a packet each, for a window of 100 that hardly grows meanwhile."""
    window = 100 * PACKET
    for _ in range(100 - marked):
        window += library.prague_increase(window, 1, PACKET)
    assert window / PACKET - 100 == pytest.approx(grown, rel=0.01)


@given(window=windows)
def test_whole_packets_are_rounded_up(library: ctypes.CDLL, window: int) -> None:
    assert library.prague_packets(window) == -floor(-window / PACKET)
    assert library.prague_bounded(window) == window
    assert library.prague_bounded(window % (2 * PACKET)) == 2 * PACKET


@pytest.mark.parametrize(("doubled", "mbit"), [(False, 60), (True, 120)])
def test_pacing_sends_a_window_in_an_rtt(library: ctypes.CDLL, doubled: bool, mbit: int) -> None:
    assert library.prague_pacing_rate(100, 1500, 20000, doubled) * 8 == mbit * 10**6
