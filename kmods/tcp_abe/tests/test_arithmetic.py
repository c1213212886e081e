"""The arithmetic of kmods/tcp_abe, compiled into a library, against exact numbers."""

import ctypes
from collections.abc import Callable
from fractions import Fraction

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.kmods.userspace import compiled

ONE = 1024
C = Fraction(410, 1024)  # CUBIC's constant as Linux has it
U32, U64 = ctypes.c_uint32, ctypes.c_uint64
ARGUMENTS = {
    "abe_factor": [U32],
    "abe_reduced": [U32, U32],
    "cubic_wmax": [U32, U32, U32],
    "cubic_root": [U64],
    "cubic_k": [U32],
    "cubic_target": [U64, U32, U32],
    "cubic_interval": [U32, U32],
    "cubic_reno_interval": [U32, U32],
}

percents = st.integers(1, 100)
factors = percents.map(lambda percent: (percent * ONE + 50) // 100)
windows = st.integers(1, 2**32 - 1)
usual_windows = st.integers(1, 10**6)

Function = Callable[..., int]
Library = dict[str, Function]


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Library:
    loaded = compiled("arithmetic", "tcp_abe", tmp_path_factory.mktemp("arithmetic"))
    functions: Library = {}
    for name, arguments in ARGUMENTS.items():
        function = getattr(loaded, name)
        function.argtypes, function.restype = arguments, U32
        functions[name] = function
    return functions


def cube_root(number: int) -> int:
    """The largest whole number whose cube is not above `number`."""
    low, high = 0, 1 << (number.bit_length() // 3 + 1)
    while low < high:
        middle = (low + high + 1) // 2
        if middle**3 <= number:
            low = middle
        else:
            high = middle - 1
    return low


def test_a_percentage_is_rounded_to_the_nearest_1024th(library: Library) -> None:
    for percent in range(1, 101):
        exact = Fraction(percent * ONE, 100)
        assert abs(library["abe_factor"](percent) - exact) <= Fraction(1, 2)


def test_mainlines_factors_come_out(library: Library) -> None:
    assert library["abe_factor"](50) == 512
    assert library["abe_factor"](70) == 717
    assert library["abe_factor"](100) == ONE


@given(windows, factors)
@example(2**32 - 1, ONE)
def test_a_reduction_is_exact(library: Library, cwnd: int, factor: int) -> None:
    assert library["abe_reduced"](cwnd, factor) == max(cwnd * factor // ONE, 2)


@given(windows)
def test_half_a_window_is_mainline_renos(library: Library, cwnd: int) -> None:
    assert library["abe_reduced"](cwnd, 512) == max(cwnd >> 1, 2)


@given(windows, windows, factors)
def test_fast_convergence_goes_to_the_middle(
    library: Library, cwnd: int, wmax: int, factor: int
) -> None:
    middle = cwnd * (ONE + factor) // (2 * ONE)
    assert library["cubic_wmax"](cwnd, wmax, factor) == (middle if cwnd < wmax else cwnd)


def test_small_cube_roots_are_rounded(library: Library) -> None:
    roots = [library["cubic_root"](number) for number in range(64)]
    nearest = [round(number ** (1 / 3)) for number in range(64)]
    nearest[42] = 4  # mainline's table, for 3.48
    assert roots == nearest


@given(st.integers(64, 2**64 - 1))
@example(2**64 - 1)
@example(2**63)
@example(64)
def test_cube_roots_are_near(library: Library, number: int) -> None:
    root = library["cubic_root"](number)
    assert abs(root - cube_root(number)) <= 1 + 0.002 * root


@given(st.integers(1, 10**6))
def test_k_takes_the_window_back(library: Library, lacking: int) -> None:
    k = library["cubic_k"](lacking)
    exact = (lacking / C) ** Fraction(1, 3) * ONE  # in 1/1024 s
    assert abs(k - exact) <= 1 + 0.002 * exact


@given(st.integers(0, 300 * ONE), st.integers(0, 300 * ONE), st.integers(2**31, 2**31 + 10**6))
def test_the_cubic_function_is_exact(library: Library, time: int, k: int, origin: int) -> None:
    # so high an origin that the window does not fall below 0
    change = int(C * abs(Fraction(time - k, ONE)) ** 3)
    wanted = origin - change if time < k else origin + change
    assert library["cubic_target"](time, k, origin) == wanted


@given(usual_windows, usual_windows)
def test_growth_reaches_the_target_in_a_round_trip(
    library: Library, cwnd: int, target: int
) -> None:
    interval = library["cubic_interval"](cwnd, target)
    assert interval == (cwnd // (target - cwnd) if target > cwnd else 100 * cwnd)


@given(usual_windows, st.sampled_from([512, 717, 819, 870, 973]))
def test_reno_like_growth_is_as_rfc_9438_says(library: Library, cwnd: int, factor: int) -> None:
    beta = Fraction(factor, ONE)
    packets = cwnd / (3 * (1 - beta) / (1 + beta))  # for each that the window grows
    got = library["cubic_reno_interval"](cwnd, factor)
    # whole eighths, of which there are 8 or more
    assert packets * Fraction(7, 8) - 1 <= got <= packets or got == 1


@given(usual_windows, factors)
def test_growth_never_divides_by_zero(library: Library, cwnd: int, factor: int) -> None:
    assert library["cubic_reno_interval"](cwnd, factor) >= 1


def test_without_a_reduction_reno_does_not_grow(library: Library) -> None:
    assert library["cubic_reno_interval"](10, ONE) == 2**32 - 1
