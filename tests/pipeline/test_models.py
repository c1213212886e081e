"""The model of CAIA-TR-150710A: its stated values, and what must hold everywhere."""

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from sandglass.papers import formulas

betas = st.floats(0.05, 0.95)
buffers = st.floats(0, 1e4)
products = st.floats(1, 1e4)


def test_the_stated_value_without_a_buffer() -> None:
    """'For b=0 and beta=0.5, this yields 3/4 C' (below eq. 6)."""
    assert formulas.throughput(10, 0.5, 0, 83) == pytest.approx(7.5)


def test_the_rule_of_thumb() -> None:
    """'With beta=0.5, (1) yields the well-known rule-of-thumb: b >= d'."""
    assert formulas.full_buffer(0.5, 83) == 83


def test_the_path_of_fig_2() -> None:
    """10 Mb/s x 100 ms is 82.6 packets of 1514 bytes; one more is on the link, and an ACK's 66."""
    assert formulas.path_packets(10e6, 0.1, 1514, 66) == pytest.approx(82.562 + 1 + 0.044, abs=1e-3)


def test_the_least_queue_of_fig_5() -> None:
    """CUBIC's 0.7 leaves 0.05 BDP of a buffer of 1/2 BDP, and 0.4 of 1 BDP."""
    assert formulas.trough(0.7, 0.5, 1) == pytest.approx(0.05)
    assert formulas.trough(0.7, 1, 1) == pytest.approx(0.4)


@pytest.mark.parametrize(("beta", "backoffs"), [(0.5, 1), (0.7, 2), (0.85, 5), (0.9, 7)])
def test_backoffs_that_halve(beta: float, backoffs: int) -> None:
    assert formulas.halving(beta) == backoffs
    assert beta**backoffs <= 0.5 < beta ** (backoffs - 1)


@given(betas, buffers, products)
def test_utilisation_is_a_share(beta: float, b: float, d: float) -> None:
    lowest = (1 + beta) / 2  # eq. 5 for b = 0
    assert lowest - 1e-9 <= formulas.utilisation(beta, b, d) <= 1


@given(betas, buffers, products, st.floats(1, 1e3))
def test_utilisation_grows_with_the_buffer(beta: float, b: float, d: float, more: float) -> None:
    assert formulas.utilisation(beta, b + more, d) >= formulas.utilisation(beta, b, d) - 1e-9


@given(betas, buffers, products)
def test_the_mean_queue_lies_between_trough_and_buffer(beta: float, b: float, d: float) -> None:
    mean = formulas.mean_queue(beta, b, d)
    assert mean <= b + 1e-6 * d
    if b >= formulas.full_buffer(beta, d):
        assert mean >= formulas.trough(beta, b, d) - 1e-6 * (b + d)


@given(products)
def test_the_mean_queue_of_a_halving_through_one_bdp(d: float) -> None:
    """Windows from d to 2d, each by its packets: 7/9 of 2d, and d of it on the path."""
    assert formulas.mean_queue(0.5, d, d) == pytest.approx((14 / 9 - 1) * d)


@given(st.floats(10, 1e4))
def test_cubic_begins_after_the_back_off_and_is_flat_at_its_largest(largest: float) -> None:
    after = 0.7 * largest
    back = ((largest - after) / 0.4) ** (1 / 3)
    assert formulas.cubic_window(0, largest, after) == pytest.approx(after)
    assert formulas.cubic_window(back, largest, after) == pytest.approx(largest)
    assert formulas.cubic_window(2 * back, largest, after) == pytest.approx(2 * largest - after)


@given(st.floats(0, 0.99), st.floats(1e-6, 1e3))
def test_exponential_service_waits_twice_as_long(load: float, service: float) -> None:
    constant = formulas.waiting(load, service, service**2)
    assert formulas.waiting(load, service, 2 * service**2) == pytest.approx(2 * constant)
    assert constant == pytest.approx(load / (1 - load) * service / 2)


@given(st.floats(2, 1e5))
def test_dctcp_marks_one_round_trip_of_each_saw_tooth(window: float) -> None:
    """S(W1, W2) = (W2^2 - W1^2) / 2 packets are sent while the window grows from W1 to W2."""
    alpha = formulas.dctcp_alpha(window)
    peak = window + 1
    sent = peak**2 - (peak * (1 - alpha / 2)) ** 2
    assert alpha == pytest.approx((peak**2 - window**2) / sent, rel=1e-6)


@pytest.mark.parametrize("window", [0.0, -1.0, float("nan")])
def test_a_window_without_packets(window: float) -> None:
    with pytest.raises(ValueError, match="window is"):
        formulas.dctcp_alpha(window)


@pytest.mark.parametrize("load", [-0.1, 1.0, float("nan")])
def test_a_queue_without_a_mean(load: float) -> None:
    with pytest.raises(ValueError, match="load is"):
        formulas.waiting(load, 1, 1)


@given(betas, betas, buffers, products)
def test_utilisation_grows_with_beta(one: float, two: float, b: float, d: float) -> None:
    low, high = sorted((one, two))
    assert formulas.utilisation(high, b, d) >= formulas.utilisation(low, b, d) - 1e-9


@given(betas, buffers, products, st.floats(1e-3, 1e3))
def test_only_the_ratio_counts(beta: float, b: float, d: float, scale: float) -> None:
    scaled = formulas.utilisation(beta, b * scale, d * scale)
    assert scaled == pytest.approx(formulas.utilisation(beta, b, d))


@given(betas, products)
def test_both_branches_meet_at_the_full_buffer(beta: float, d: float) -> None:
    edge = formulas.full_buffer(beta, d)
    assert formulas.utilisation(beta, edge, d) == 1
    assert formulas.utilisation(beta, edge * (1 - 1e-6), d) == pytest.approx(1)


@given(buffers, products)
def test_equations_1_and_2_are_inverse(b: float, d: float) -> None:
    beta = formulas.full_beta(b, d)
    assume(0 < beta < 1)
    assert formulas.full_buffer(beta, d) == pytest.approx(b, abs=1e-6 * d)


@given(betas, buffers, products)
def test_the_queue_drains_exactly_when_the_link_idles(beta: float, b: float, d: float) -> None:
    edge = formulas.full_buffer(beta, d)
    assume(abs(b - edge) > 1e-6 * d)
    assert (formulas.trough(beta, b, d) > 0) == (b > edge)


@pytest.mark.parametrize(
    ("beta", "b", "d"),
    [(0, 1, 1), (1, 1, 1), (1.5, 1, 1), (0.5, -1, 1), (0.5, 1, 0), (0.5, float("nan"), 1)],
)
def test_outside_the_model(beta: float, b: float, d: float) -> None:
    with pytest.raises(ValueError, match="is"):
        formulas.utilisation(beta, b, d)
