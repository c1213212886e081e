"""What a seed draws: the distribution asked for, whatever else is drawn."""

import math
from statistics import NormalDist

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandglass.agent import draws

MEDIAN, SIGMA = 30_000, 1.2
seeds = st.integers(0, 2**64 - 1)


@pytest.mark.parametrize("deviations", [-2, -1, -0.5, 0, 0.5, 1, 2])
def test_sizes_are_lognormal(deviations: float) -> None:
    """So many below a quantile as the normal distribution says, within four standard errors."""
    drawn = [draws.lognormal(seed, "size", MEDIAN, SIGMA, 1, 10**9) for seed in range(4000)]
    expected = NormalDist().cdf(deviations)
    below = sum(size < MEDIAN * math.exp(SIGMA * deviations) for size in drawn) / len(drawn)
    assert abs(below - expected) < 4 * math.sqrt(expected * (1 - expected) / len(drawn))


@given(seeds, st.integers(1, 10**9), st.floats(0, 10), st.integers(1, 100), st.integers(1, 100))
def test_sizes_stay_within_their_bounds(
    seed: int, median: int, sigma: float, below: int, above: int
) -> None:
    least, most = max(median // below, 1), median * above
    drawn = draws.lognormal(seed, "size", median, sigma, least, most)
    assert least <= drawn <= most
    free = draws.lognormal(seed, "size", median, sigma, 1, 10**60)
    assert drawn == min(max(free, least), most)


@given(seeds, st.integers(1, 10**9))
def test_a_distribution_without_width_is_its_median(seed: int, median: int) -> None:
    assert draws.lognormal(seed, "size", median, 0, 1, 10**9) == median


def test_seeds_and_purposes_draw_independently() -> None:
    """Of 200 pairs each, about half fall on the same side of the median."""
    for other in ((1, "size of flow 2"), (2, "size of flow 1")):
        same = 0
        for number in range(200):
            pair = [(2 * number + seed, what) for seed, what in ((1, "size of flow 1"), other)]
            small = [draws.lognormal(*each, MEDIAN, SIGMA, 1, 10**9) < MEDIAN for each in pair]
            same += small[0] == small[1]
        assert 70 < same < 130
