"""The arithmetic of kmods/tcp_lsaimd, compiled into a library, against exact numbers."""

import ctypes
import math
from collections.abc import Callable
from fractions import Fraction

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.kmods.userspace import compiled

BYTE = 1 << 24  # windows are in 1/2^24 byte
FLOOR, CEILING = 2 * BYTE, BYTE << 31
ALPHA_ONE = 1 << 20
DELTA = 2
U32, U64, BOOL = ctypes.c_uint32, ctypes.c_uint64, ctypes.c_bool
SIGNATURES = {
    "fixed_log2": ([U64], U32),
    "lsaimd_segments": ([U64, U32], U32),
    "lsaimd_window": ([U32, U32], U64),
    "lsaimd_burst": ([U32, U32, U32], U32),
    "lsaimd_delta": ([U32], U32),
    "lsaimd_waits": ([U64, U32, U32], BOOL),
    "lsaimd_increase": ([U32, U32, U32, U64], U64),
    "lsaimd_avoid": ([U64, U64, U32, U32, U32], U64),
    "lsaimd_reduced": ([U64, U32], U64),
    "lsaimd_alpha": ([U32, U32, U32], U32),
    "lsaimd_idle": ([U64, U64, U32], U64),
    "lsaimd_rate": ([U64, U32, U32, U32], U64),
    "lsaimd_longer": ([U32, U64, U64], U64),
    "lsaimd_rtt": ([U32, U32, BOOL], U32),
    "lsaimd_srtt": ([U32, U32, U32], U32),
    "lsaimd_wait": ([U32, U64, U32], U64),
    "lsaimd_send": ([U32, U32, U32, U32, U32, U32, BOOL], U32),
}
# (SMSS, k0, k1) as the thesis has them
LAWS = ((1448, 256, 512), (8948, 1024, 2048))

windows = st.integers(FLOOR, CEILING)
small_windows = st.integers(FLOOR, 20_000 * BYTE)
sizes = st.integers(88, 65483)  # SMSS of an MTU from 128 to 65535
shares = st.integers(0, ALPHA_ONE)
factors = st.integers(1, 128)
constants = st.integers(1, 65535)
counts = st.integers(0, 2**32 - 1)
bursts = st.integers(1, 10)

Function = Callable[..., int]
Library = dict[str, Function]


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Library:
    loaded = compiled("lsaimd", "tcp_lsaimd", tmp_path_factory.mktemp("lsaimd"))
    functions: Library = {}
    for name, (arguments, result) in SIGNATURES.items():
        function = getattr(loaded, name)
        function.argtypes, function.restype = arguments, result
        functions[name.split("_", 1)[1]] = function
    return functions


def add(c: int, k0: int, k1: int, threshold: int) -> float:
    """The thesis's add_B in bytes, without the cancellation of log2(1 + something small)."""
    return c / 128 * k0 * math.log1p(threshold / BYTE / k1) / math.log(2)


@given(st.integers(1, 2**64 - 1))
@example(1)
@example(2**64 - 1)
@example(2**63 + 1)
@example(3)
def test_the_logarithm_is_as_exact_as_it_says(library: Library, number: int) -> None:
    short = math.log2(number) * BYTE - library["log2"](number)
    # A double is within 2^-46 here.
    assert -1e-5 < short < 1.07


@given(st.integers(0, 63))
def test_the_logarithm_of_a_power_of_two_is_exact(library: Library, exponent: int) -> None:
    assert library["log2"](1 << exponent) == exponent * BYTE


@given(st.integers(1, 2**64 - 2))
def test_the_logarithm_never_falls(library: Library, number: int) -> None:
    assert library["log2"](number) <= library["log2"](number + 1)


@given(windows, factors, st.sampled_from(LAWS))
@example(FLOOR, 1, LAWS[0])
@example(FLOOR, 1, LAWS[1])
@example(CEILING, 128, LAWS[1])
def test_the_increase_is_the_thesiss(
    library: Library, threshold: int, c: int, law: tuple[int, int, int]
) -> None:
    _, k0, k1 = law
    got = library["increase"](c, k0, k1, threshold) / BYTE
    # 2^-23 for the two logarithms, and a 256th of a byte of the threshold
    error = c / 128 * k0 * (2**-23 + 1 / 256 / (threshold / BYTE + k1) / math.log(2))
    assert got == pytest.approx(add(c, k0, k1, threshold), abs=error)
    assert got == pytest.approx(add(c, k0, k1, threshold), rel=2e-3)


@given(windows, factors, constants, constants)
@example(CEILING, 128, 65535, 1)
def test_no_setting_overflows_the_increase(
    library: Library, threshold: int, c: int, k0: int, k1: int
) -> None:
    got = library["increase"](c, k0, k1, threshold) / BYTE
    error = c / 128 * k0 * 2**-22 + 2**-24
    assert got == pytest.approx(add(c, k0, k1, threshold), rel=2e-3, abs=error)


@given(bursts, counts, sizes)
def test_a_burst_fits_into_the_largest_window_of_the_receiver(
    library: Library, most: int, offered: int, mss: int
) -> None:
    """min(delta SMSS, rwnd), but whole segments, and one at least."""
    assert library["burst"](most, offered, mss) == max(min(most, offered // mss), 1)


@given(windows, sizes, bursts)
def test_a_window_of_less_than_a_burst_waits(
    library: Library, window: int, mss: int, burst: int
) -> None:
    """Where segments leave one by one, one of fewer than the two that an ACK may be for."""
    waits = library["waits"](window, mss, library["delta"](burst))
    assert waits == (window < max(burst, DELTA) * mss * BYTE)


@given(windows, factors, st.sampled_from(LAWS), st.integers(DELTA, 10))
def test_a_round_trip_adds_the_increase(
    library: Library, window: int, c: int, law: tuple[int, int, int], delta: int
) -> None:
    """Whole segments share the increase; below delta, a segment has that of its waiting too."""
    mss, k0, k1 = law
    increase = library["increase"](c, k0, k1, window)
    segment = mss * BYTE
    grown = library["avoid"](window, increase, mss, delta, 1) - window
    whole = window // segment
    share = Fraction(increase, whole) if whole >= delta else Fraction(increase * segment, window)
    if window < CEILING - segment:
        assert share - 1 < grown <= share


@given(windows, st.integers(0, 2**46), sizes, counts)
@example(CEILING, 2**46, 65483, 2**32 - 1)
@example(FLOOR, 2**46, 65483, 2**32 - 1)
@example(FLOOR, 0, 88, 2**32 - 1)
def test_growth_stays_within_slow_starts_and_the_ceiling(
    library: Library, window: int, increase: int, mss: int, acked: int
) -> None:
    grown = library["avoid"](window, increase, mss, DELTA, acked)
    assert window <= grown <= CEILING
    assert grown - window <= acked * mss * BYTE


@given(windows, shares)
def test_a_reduction_is_exact_down_to_two_bytes(library: Library, flight: int, alpha: int) -> None:
    exact = flight - flight * alpha // (2 * ALPHA_ONE)
    assert library["reduced"](flight, alpha) == max(exact, FLOOR)


@given(small_windows)
def test_halving_again_and_again_ends_at_two_bytes(library: Library, window: int) -> None:
    for _ in range(64):
        window = library["reduced"](window, ALPHA_ONE)
    assert window == FLOOR


@given(shares, counts, counts)
@example(ALPHA_ONE, 2**32 - 1, 2**32 - 1)
def test_alpha_is_dctcps_mean(library: Library, alpha: int, delivered: int, marked: int) -> None:
    share = Fraction(min(marked, delivered), delivered) if delivered else Fraction(0)
    exact = Fraction(15, 16) * alpha + share * ALPHA_ONE / 16
    got = library["alpha"](alpha, delivered, marked)
    assert abs(got - exact) < 2
    assert 0 <= got <= ALPHA_ONE


def test_alpha_reaches_both_ends(library: Library) -> None:
    alpha = ALPHA_ONE
    for _ in range(300):
        alpha = library["alpha"](alpha, 10, 0)
    assert alpha < 16  # 1/65536
    for _ in range(300):
        alpha = library["alpha"](alpha, 10, 10)
    assert alpha > ALPHA_ONE - 16


@given(windows, windows, counts)
def test_idle_time_halves_down_to_the_restart_window(
    library: Library, window: int, restart: int, timeouts: int
) -> None:
    halved = window >> timeouts if timeouts < 64 else 0
    assert library["idle"](window, restart, timeouts) == min(window, max(halved, restart))


@given(windows, st.integers(1, 2**32 - 1), st.integers(100, 1000), sizes)
@example(CEILING, 1, 1000, 65483)
@example(FLOOR, 2**32 - 1, 100, 88)
def test_the_pace_is_a_window_per_round_trip(
    library: Library, window: int, srtt: int, percent: int, mss: int
) -> None:
    exact = Fraction(window * 8_000_000 * percent, BYTE * srtt * 100)
    got = library["rate"](window, srtt, percent, mss)
    if exact < mss:
        assert got == mss  # a segment each second
    else:
        # a 256th of a byte of the window, and of byte/s twice
        error = Fraction(8_000_000 * percent, 256 * srtt * 100) + Fraction(percent, 100) + 1
        assert exact - error <= got <= exact


@given(small_windows, st.integers(8 * 50, 8 * 10**6))
def test_a_waiting_segment_waits_as_long_as_the_thesis_says(
    library: Library, window: int, srtt: int
) -> None:
    """From one segment to the next: SRTT and the delay d of (s/W - 1) SRTT after it."""
    mss = 8948
    interval = mss / library["rate"](window, srtt, 100, mss)
    rtt = srtt / 8e6
    delay = (mss * BYTE / window - 1) * rtt
    assert interval == pytest.approx(min(rtt + delay, 1), rel=2e-3)


@given(sizes, st.integers(1, 10**10), st.integers(0, 10**10))
def test_a_slower_pace_prolongs_a_wait(
    library: Library, mss: int, after: int, faster_by: int
) -> None:
    after = max(after, mss)
    exact = Fraction(mss * 10**9, after) - Fraction(mss * 10**9, after + faster_by)
    assert abs(library["longer"](mss, after + faster_by, after) - exact) < 1


@given(st.integers(0, 2**28 - 1), st.integers(0, 2**32 - 1), st.booleans())
def test_a_delayed_ack_is_taken_off_a_lone_segments_rtt(
    library: Library, rtt: int, least: int, alone: bool
) -> None:
    got = library["rtt"](rtt, least, alone)
    if alone and rtt - least > 40_000:
        assert got == rtt - 40_000
    else:
        assert got == rtt


@given(st.integers(0, 2**31 - 1), st.integers(0, 2**28 - 1), st.integers(0, 7))
def test_the_rtt_is_smoothed(library: Library, srtt: int, rtt: int, shift: int) -> None:
    got = library["srtt"](srtt, rtt, shift)
    assert got == max(1, srtt - srtt // 2**shift + 8 * rtt // 2**shift if srtt else 8 * rtt)


@given(st.integers(1, 2**28 - 1), st.integers(1, 2**28 - 1))
def test_an_eighth_of_an_rtt_counts_as_in_rfc_6298(library: Library, srtt: int, rtt: int) -> None:
    assert library["srtt"](8 * srtt, rtt, 3) == 7 * srtt + rtt


@given(small_windows, st.integers(8 * 50, 8 * 10**6), bursts)
def test_what_a_burst_waits_after_a_round_trip(
    library: Library, window: int, srtt: int, burst: int
) -> None:
    """d of (s/W - 1) SRTT, and no time where a burst or more fits into the window."""
    mss = 8948
    delay = max(burst * mss * BYTE / window - 1, 0) * srtt / 8e6
    longest = burst - srtt / 8e6  # of a second for each segment, what the round trip leaves
    got = library["wait"](burst * mss, library["rate"](window, srtt, 100, mss), srtt) / 1e9
    assert got == pytest.approx(max(min(delay, longest), 0), rel=2e-3, abs=2e-3 * srtt / 8e6)


@given(small_windows, st.integers(8 * 50, 8 * 10**6), st.integers(8 * 50, 2**32 - 1), bursts)
def test_a_longer_round_trip_leaves_less_of_the_wait(
    library: Library, window: int, srtt: int, rtt: int, burst: int
) -> None:
    """From one burst to the next it is s/W SRTT, unless the round trip takes longer."""
    mss = 8948
    pace = library["rate"](window, srtt, 100, mss)
    interval = rtt * 125 + library["wait"](burst * mss, pace, rtt)
    assert interval == max(burst * mss * 10**9 // pace, rtt * 125)


@given(
    st.integers(1, 10**6), st.integers(1, 10**6), st.integers(0, 10**6), st.integers(0, 10**6),
    st.integers(0, 10**6), st.integers(1, 10**6), st.booleans(),
)  # fmt: skip
def test_what_is_sent_while_the_window_shrinks(
    library: Library,
    target: int,
    prior: int,
    flight: int,
    delivered: int,
    sent: int,
    acked: int,
    losses: bool,
) -> None:
    got = library["send"](target, prior, flight, delivered, sent, acked, losses)
    assert flight + got >= 1  # something is always on its way
    if flight > target:
        share = -(-target * delivered // prior)
        assert got == max(share - sent, 0 if sent else 1)
    else:
        assert got <= max(target - flight, 1)


@given(st.integers(2, 200), st.integers(2, 200))
def test_a_round_trip_of_acks_takes_the_window_down(
    library: Library, target: int, prior: int
) -> None:
    """One ACK for each of `prior` segments on the way, all that may be sent sent."""
    target = min(target, prior)
    flight, sent = prior, 0
    for delivered in range(1, prior + 1):
        flight -= 1
        now = library["send"](target, prior, flight, delivered, sent, 1, False)
        flight, sent = flight + now, sent + now
    assert abs(flight - target) <= 1
