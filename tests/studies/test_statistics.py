"""What a study says of its replicas is right as often as it claims, in whatever order they come."""

import math
from collections.abc import Callable

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError
from scipy import stats

from sandglass.errors import SandglassError
from sandglass.studies import statistics
from sandglass.studies.statistics import Interval, Rule, interval

STUDIES = 1000
Draw = Callable[[np.random.Generator, int], np.ndarray]

SIGMA = 0.25
"""Of a lognormal distribution: replicas differ by a quarter."""


def normal(random: np.random.Generator, n: int) -> np.ndarray:
    return random.normal(20, 3, n)


def lognormal(random: np.random.Generator, n: int) -> np.ndarray:
    return random.lognormal(-(SIGMA**2) / 2, SIGMA, n) * 20


def covered(found: Interval, truth: float) -> bool:
    assert found.low is not None
    assert found.high is not None
    return found.low <= truth <= found.high


@pytest.mark.parametrize("n", [3, 5, 10, 20])
@pytest.mark.parametrize("draw", [normal, lognormal])
def test_95_of_100_intervals_hold_the_truth(draw: Draw, n: int) -> None:
    random = np.random.default_rng(n)
    held = sum(covered(interval(draw(random, n)), 20) for _ in range(STUDIES))
    assert 0.93 <= held / STUDIES <= 0.97


def test_a_skewed_distribution_is_followed_from_20_replicas_on() -> None:
    random = np.random.default_rng(1)
    samples = [random.lognormal(-0.5, 1, 20) for _ in range(STUDIES // 4)]
    found = [interval(values) for values in samples]
    of_student = [stats.t.interval(0.95, 19, v.mean(), stats.sem(v)) for v in samples]
    held = sum(low <= 1 <= high for low, high in of_student)
    assert sum(covered(each, 1) for each in found) > held
    above = [each.high - each.mean for each in found if each.high is not None]
    below = [each.mean - each.low for each in found if each.low is not None]
    assert np.median(above) > 1.5 * np.median(below)


@pytest.mark.parametrize("apart", [0, 3, 100])  # of the points' means; replicas have 3
@pytest.mark.parametrize("k", [1, 2, 20])
@pytest.mark.parametrize("n", [2, 5, 20])
def test_the_least_of_points_is_held_by_95_of_100_intervals(n: int, k: int, apart: float) -> None:
    random = np.random.default_rng(n * k)
    means = np.linspace(20, 20 + apart, k)
    found = [
        statistics.least([random.normal(mean, 3, n) for mean in means]) for _ in range(STUDIES)
    ]
    assert sum(covered(each, 20) for each in found) / STUDIES >= 0.93


def test_the_least_of_each_replica_is_too_low() -> None:
    """Why `least` is not the interval of the replicas' own least points."""
    random = np.random.default_rng(1)
    drawn = [random.normal(20, 3, (10, 5)) for _ in range(STUDIES)]  # replicas, points
    assert sum(covered(interval(each.min(axis=1)), 20) for each in drawn) / STUDIES < 0.1
    assert sum(covered(statistics.least(each.T), 20) for each in drawn) / STUDIES >= 0.93


def test_the_least_of_one_point_is_its_mean() -> None:
    assert statistics.least([[1, 2, 3, 4, 5]]) == pytest.approx(interval([1, 2, 3, 4, 5]))
    assert statistics.largest([[1, 2, 3, 4, 5]]) == pytest.approx(interval([1, 2, 3, 4, 5]))


def test_the_ends_of_the_least_are_of_points() -> None:
    found = statistics.least([[4, 4, 4], [5, 5, 5]])
    assert found == (4, 4, 4)
    assert statistics.largest([[4, 4, 4], [5, 5, 5]]) == (5, 5, 5)
    # Student's t with 2 degrees of freedom times 1 / sqrt(3): 4.3027, of two points 6.2053
    own, of_two = 2.48414, 3.58264
    low = statistics.least([[1, 2, 3], [5, 5, 5]])
    assert low == pytest.approx((2, 2 - own, 5), abs=1e-4)
    low = statistics.least([[1, 2, 3], [6, 6, 6]])
    assert low == pytest.approx((2, 2 - own, 2 + of_two), abs=1e-4)
    high = statistics.largest([[1, 2, 3], [-2, -2, -2]])
    assert high == pytest.approx((2, 2 - of_two, 2 + own), abs=1e-4)


def test_the_least_of_single_values_has_no_interval() -> None:
    assert statistics.least([[7], [5]]) == (5, None, None)


def test_student() -> None:
    assert interval([1, 2, 3, 4, 5]) == pytest.approx((3, 3 - 1.9632, 3 + 1.9632), abs=1e-4)


def test_one_value_has_no_interval() -> None:
    assert interval([7]) == (7, None, None)
    assert interval([7]).half_width == math.inf


def test_two_values_have_a_wide_one() -> None:
    found = interval([1, 2])
    assert found.half_width == pytest.approx(12.706 / 2, rel=1e-4)


@pytest.mark.parametrize("n", [2, 5, 25])
def test_without_spread_it_is_a_point(n: int) -> None:
    assert interval([0.1] * n) == pytest.approx((0.1, 0.1, 0.1))
    assert interval([0.1] * n).half_width == 0


def test_hardly_any_spread_falls_back_to_student() -> None:
    values = [0.0] * 24 + [1.0]  # of 25 drawn, more than a third of the resamples are all 0
    half = stats.t.ppf(0.975, 24) * np.std(values, ddof=1) / 5
    assert interval(values) == pytest.approx((0.04, 0.04 - half, 0.04 + half))


def test_equal_resamples_have_no_spread_by_a_last_digit_either() -> None:
    """The mean of twenty times 28.824 is another number: its distance made ends of 10^15."""
    found = interval([28.824] * 17 + [40.7, 41.1, 48.6])
    few = interval([28.0] * 17 + [39.876, 40.276, 47.776])
    assert found.high is not None
    assert few.high is not None
    assert found.high - found.mean == pytest.approx(few.high - few.mean)
    assert found.high < 35


@pytest.mark.parametrize("values", [[], [1, math.nan], [math.inf, 1]])
def test_what_is_no_number_is_refused(values: list[float]) -> None:
    with pytest.raises(SandglassError, match="no mean of"):
        interval(values)


finite = st.floats(-1e6, 1e6, allow_subnormal=False)
samples = st.lists(finite, min_size=2, max_size=25)


@given(samples, st.randoms(use_true_random=False))
def test_the_order_of_replicas_does_not_show(values: list[float], random: object) -> None:
    shuffled = list(values)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert interval(shuffled) == interval(values)


@given(samples, st.floats(-1e6, 1e6), st.floats(1e-3, 1e3))
def test_another_unit_gives_the_same_interval_in_it(
    values: list[float], shift: float, scale: float
) -> None:
    one = interval(np.array(values) + shift)
    other = interval((np.array(values) + shift) * scale)
    about = 1e-6 * (max(map(abs, values)) + abs(shift) + 1e-3)
    assert np.array(one) * scale == pytest.approx(np.array(other), rel=1e-6, abs=about * scale)


@given(samples)
def test_the_mean_lies_in_its_interval(values: list[float]) -> None:
    found = interval(values)
    assert found.low is not None
    assert found.high is not None
    assert found.low <= found.mean <= found.high


def runs(**metrics: list[list[float]]) -> pl.DataFrame:
    """Runs of a study of two queues, with a list of replicas per queue for each metric."""
    names = ["CoDel", "PIE"]
    rows = [
        {"queue": queue, "replica": replica + 1, "seed": 1}
        | {metric: values[index][replica] for metric, values in metrics.items()}
        for index, queue in enumerate(names)
        for replica in range(len(next(iter(metrics.values()))[index]))
    ]
    return pl.DataFrame(rows)


def test_summary() -> None:
    table = statistics.summary(
        runs(delay=[[1, 2, 6], [4]], drops=[[0, 0, 0], [3]]), ["queue"], ["delay", "drops"]
    )
    assert table.columns == ["queue", "metric", "n", "mean", "sd", "median", "low", "high"]
    assert table.select("queue", "metric", "n", "mean", "median").rows() == [
        ("CoDel", "delay", 3, 3, 2),
        ("CoDel", "drops", 3, 0, 0),
        ("PIE", "delay", 1, 4, 4),
        ("PIE", "drops", 1, 3, 3),
    ]
    assert table["sd"].to_list() == [pytest.approx(math.sqrt(7)), 0, None, None]
    assert table["low"].is_null().to_list() == [False, False, True, True]


def test_summary_without_axes_is_of_one_point() -> None:
    table = statistics.summary(runs(delay=[[1, 2], [3]]).drop("queue"), [], ["delay"])
    assert table.select("metric", "n", "mean").rows() == [("delay", 3, 2)]


def test_summary_says_where_a_metric_has_no_number() -> None:
    with pytest.raises(SandglassError, match="delay of queue CoDel, replica 2, is not a number"):
        statistics.summary(runs(delay=[[1, math.nan], [3, 4]]), ["queue"], ["delay"])


def test_summary_with_a_rule_says_where_it_is_reached() -> None:
    table = statistics.summary(
        runs(delay=[[1, 2], [4, 4]], drops=[[0, 1], [2, 3]]),
        ["queue"],
        ["delay", "drops"],
        Rule.model_validate({"of": "delay", "within": "5%"}),
    )
    assert table["reached"].to_list() == [False, None, True, None]


@pytest.mark.parametrize(
    ("within", "values", "reached"),
    [
        ("5%", [100, 100.5, 101], True),  # half the interval is 1.24
        ("1%", [100, 100.5, 101], False),
        (1.25, [100, 100.5, 101], True),
        (1.2, [100, 100.5, 101], False),
        ("5%", [-100, -100.5, -101], True),
        ("5%", [100], False),
        ("5%", [0, 0], True),
    ],
)
def test_enough(within: str | float, values: list[float], reached: bool) -> None:
    rule = Rule.model_validate({"of": "delay", "within": within})
    assert statistics.enough(values, rule) is reached


@pytest.mark.parametrize("within", ["five", "0%", "120%", -1, 0, "5", None, "-3%"])
def test_a_rule_that_cannot_be_is_refused(within: object) -> None:
    with pytest.raises(ValidationError):
        Rule.model_validate({"of": "delay", "within": within})


def test_replicas_until_it_is_narrow_enough_hold_the_truth() -> None:
    """Stopping when it looks good costs a little coverage: Rule begins with 5 for that."""
    random = np.random.default_rng(1)
    rule = Rule.model_validate({"of": "delay", "within": "5%", "most": 19})
    held = 0
    for _ in range(STUDIES):
        values = list(random.normal(20, 1.5, 5))
        while not statistics.enough(values, rule) and len(values) < rule.most:
            values += list(random.normal(20, 1.5, 2))
        held += covered(interval(values), 20)
    assert 0.9 <= held / STUDIES <= 0.97


def shared(random: np.random.Generator, n: int) -> list[list[float]]:
    """Replicas of two queues, the second 5 % above, that differ less than their seeds do."""
    common = random.lognormal(3, 0.2, n)
    return [list(common * random.normal(1, 0.02, n)), list(common * random.normal(1.05, 0.02, n))]


def test_pairs_are_narrower_than_what_is_not_paired() -> None:
    random = np.random.default_rng(1)
    for _ in range(100):
        old, new = shared(random, 10)
        (row,) = statistics.differences(
            runs(delay=[old, new]), ["queue"], ["delay"], "queue", "CoDel"
        ).to_dicts()
        apart = stats.ttest_ind(new, old, equal_var=False).confidence_interval(0.95)
        assert row["high"] - row["low"] < apart.high - apart.low
        assert row["correlation"] > 0.8
        assert row["gain"] > 5


def test_95_of_100_intervals_of_ratios_hold_the_truth() -> None:
    random = np.random.default_rng(1)
    held = 0
    for _ in range(STUDIES):
        old, new = (np.array(side) for side in shared(random, 8))
        held += covered(statistics.ratio(new, old), 1.05)
    assert 930 <= held <= 970


def test_differences() -> None:
    table = runs(delay=[[1, 2, 4], [3, 6, 8]]).with_columns(rtt=pl.lit("20ms"))
    (row,) = statistics.differences(table, ["queue", "rtt"], ["delay"], "queue", "CoDel").to_dicts()
    expected = stats.ttest_rel([3, 6, 8], [1, 2, 4])
    assert [row[key] for key in ("queue", "rtt", "metric", "against", "n")] == [
        "PIE",
        "20ms",
        "delay",
        "CoDel",
        3,
    ]
    ends = expected.confidence_interval(0.95)
    assert (row["mean"], row["low"], row["high"]) == pytest.approx((10 / 3, ends.low, ends.high))
    assert row["p"] == row["p_holm"] == pytest.approx(expected.pvalue)
    assert row["ratio"] == pytest.approx((3 * 3 * 2) ** (1 / 3))


def test_only_replicas_of_both_are_paired() -> None:
    table = runs(delay=[[1, 2, 4], [3]])
    (row,) = statistics.differences(table, ["queue"], ["delay"], "queue", "CoDel").to_dicts()
    assert (row["n"], row["mean"], row["low"], row["p"]) == (1, 2, None, None)


def test_what_is_equal_in_all_replicas_differs_by_nothing() -> None:
    table = runs(drops=[[0, 3, 5], [0, 3, 5]])
    (row,) = statistics.differences(table, ["queue"], ["drops"], "queue", "PIE").to_dicts()
    assert (row["queue"], row["mean"], row["low"], row["high"], row["p"]) == ("CoDel", 0, 0, 0, 1)
    assert row["ratio"] is None
    assert row["gain"] is None


def test_a_metric_may_be_called_as_another_with_an_end() -> None:
    table = runs(d=[[1, 2], [3, 5]], d_old=[[7, 8], [9, 9]])
    found = statistics.differences(table, ["queue"], ["d", "d_old"], "queue", "CoDel")
    assert found["mean"].to_list() == [2.5, 1.5]


def test_a_label_that_is_a_number_is_found_as_one() -> None:
    table = pl.DataFrame({"loss": [0.5, 1.0], "replica": [1, 1], "delay": [2.0, 3.0]})
    (row,) = statistics.differences(table, ["loss"], ["delay"], "loss", 1).to_dicts()
    assert (row["loss"], row["mean"]) == (0.5, -1)


def test_holm() -> None:
    assert statistics.holm([0.01, 0.04, None, 0.03, 0.005]) == pytest.approx(
        [0.03, 0.06, None, 0.06, 0.02]
    )
    assert statistics.holm([0.6, 0.7]) == [1, 1]


@pytest.mark.parametrize(
    ("delays", "drops", "said"),
    [
        # 0.1 + 0.1 + 0.1 is no 0.3, and sd no 0
        ([[0.1, 0.1, 0.1], [7, 7, 7]], [[0, 0, 0], [1, 1, 1]], "all replicas of a point are equal"),
        ([[0.1, 0.1], [7, 8]], [[0, 0], [1, 1]], "at 1 of 2 points all replicas are equal"),
        ([[0.1, 0.1], [7, 8]], [[0, 1], [1, 1]], ""),
        ([[0.1], [7]], [[0], [1]], ""),
    ],
)
def test_replicas_that_are_alike_are_noticed(
    delays: list[list[float]], drops: list[list[float]], said: str
) -> None:
    found = statistics.alike(runs(delay=delays, drops=drops), ["queue"])
    assert found.startswith(said)
    assert bool(found) == bool(said)


def test_replicas_that_are_alike_are_one_run() -> None:
    """Of no spread at all there is no interval, however often it was run again."""
    alike, noisy = [0.1, 0.1, 0.1], [1.0, 2.0, 3.0]
    table = runs(delay=[alike, noisy], drops=[[0, 0, 0], [0, 0, 0]])
    summary = statistics.summary(table, ["queue"], ["delay", "drops"])
    shown = summary.select("queue", "metric", "n", "mean", "sd", "low", "high")
    assert shown.row(0) == ("CoDel", "delay", 1, 0.1, None, None, None)
    # Runs that differ are replicas, also where one of their metrics is the same.
    assert shown.row(3) == ("PIE", "drops", 3, 0, 0, 0, 0)
    rule = Rule.model_validate({"of": "delay", "within": "5%"})
    reached = statistics.summary(table, ["queue"], ["delay"], rule)["reached"]
    assert reached.to_list() == [None, False]


def test_equal_numbers_have_no_deviation() -> None:
    """0.1 + 0.1 + 0.1 is no 0.3: the last digit of their mean is none of theirs."""
    table = runs(delay=[[0.1, 0.1, 0.1], [7, 7, 7]], drops=[[1, 2, 3], [1, 2, 3]])
    assert statistics.summary(table, ["queue"], ["delay"])["sd"].to_list() == [0, 0]


def test_pairs_of_runs_that_are_alike_are_one_pair() -> None:
    table = runs(delay=[[0.1, 0.1, 0.1], [7, 7, 7]])
    (row,) = statistics.differences(table, ["queue"], ["delay"], "queue", "CoDel").to_dicts()
    assert (row["n"], row["mean"], row["low"], row["p"]) == (1, 6.9, None, None)
    table = runs(delay=[[0.1, 0.1, 0.1], [6, 7, 8]])
    (row,) = statistics.differences(table, ["queue"], ["delay"], "queue", "CoDel").to_dicts()
    assert (row["n"], row["mean"]) == (3, pytest.approx(6.9))
