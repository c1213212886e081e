"""A claim holds or fails by the whole interval; what straddles a bound is open."""

from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from sandglass.errors import SandglassError
from sandglass.experiment.part import Part
from sandglass.experiment.problems import explain
from sandglass.studies import claims
from sandglass.studies.bounds import Bounds
from sandglass.studies.claims import Expect, Judged

AXES = {"queue": ["CoDel", "PIE"], "rtt": ["20ms", "100ms"]}

RUNS = pl.DataFrame(
    [
        {"queue": queue, "rtt": rtt, "replica": replica, "delay": base + far + replica / 10}
        for queue, base in (("CoDel", 5.0), ("PIE", 15.0))
        for rtt, far in (("100ms", 3.0), ("20ms", 0.0))
        for replica in (1, 2, 3)
    ]
)


@pytest.mark.parametrize(
    ("bounds", "low", "high", "outcome"),
    [
        ({"at_least": 1}, 1, 2, "holds"),
        ({"above": 1}, 1, 2, "open"),
        ({"above": 2}, 1, 2, "fails"),
        ({"at_least": 2}, 1, 2, "open"),
        ({"at_least": 3}, 1, 2, "fails"),
        ({"at_most": 2}, 1, 2, "holds"),
        ({"below": 2}, 1, 2, "open"),
        ({"below": 1}, 1, 2, "fails"),
        ({"at_most": 1}, 1, 2, "open"),
        ({"at_least": 0, "at_most": 3}, 1, 2, "holds"),
        ({"at_least": 1.2, "at_most": 1.8}, 1, 2, "open"),  # wider than what is allowed
        ({"at_least": 3, "at_most": 4}, 1, 2, "fails"),
        ({"at_most": 2}, 2, 2, "holds"),
        ({"below": 2}, 2, 2, "fails"),
    ],
)
def test_outcome(bounds: dict[str, float], low: float, high: float, outcome: str) -> None:
    assert Bounds.model_validate(bounds).outcome(low, high) == outcome


numbers = st.floats(-10, 10)


@given(numbers, numbers, numbers, numbers)
def test_of_a_single_value_it_is_what_holds(a: float, b: float, value: float, step: float) -> None:
    bounds = Bounds(at_least=min(a, b), below=max(a, b) + 1)
    assert bounds.outcome(value, value) == ("holds" if bounds.hold(value) else "fails")
    wider = bounds.outcome(value, value + abs(step))
    ends = {bounds.hold(value), bounds.hold(value + abs(step))}
    assert (wider == "holds") == (ends == {True})
    assert ends == {False} or wider != "fails"


def judge(runs: pl.DataFrame = RUNS, **entry: Any) -> Judged:
    expect = Expect.model_validate({"claim": "short", "metric": "delay"} | entry)
    assert not list(expect.wrong(AXES, ["delay"]))
    (judged,) = claims.judge(runs, ["queue", "rtt"], [expect])
    return judged


def test_a_point() -> None:
    judged = judge(at={"queue": "CoDel", "rtt": "20ms"}, bounds={"below": 6})
    assert (judged.verdict, judged.n, judged.points) == ("holds", 3, 1)
    assert judged.measured == pytest.approx(5.2)
    assert (judged.low, judged.high) == pytest.approx((5.2 - 0.2484, 5.2 + 0.2484), abs=1e-3)
    assert judged.expected == "delay at queue CoDel, rtt 20ms: below 6"


def test_of_several_points_the_one_that_fails_decides() -> None:
    judged = judge(at={"queue": "CoDel"}, bounds={"below": 7}, explanation="It is far.")
    assert (judged.verdict, judged.points, judged.place) == ("fails", 2, "queue CoDel, rtt 100ms")
    assert judged.explanation == "It is far."


def test_where_all_hold_the_nearest_to_its_bound_is_shown() -> None:
    assert judge(at={"queue": "PIE"}, bounds={"below": 99}).place == "queue PIE, rtt 100ms"
    assert judge(at={"queue": "PIE"}, bounds={"above": 1}).place == "queue PIE, rtt 20ms"


def test_an_open_point_leaves_the_claim_open() -> None:
    judged = judge(at={"queue": "CoDel"}, bounds={"below": 8.3}, explanation="It is far.")
    assert (judged.verdict, judged.place) == ("open", "queue CoDel, rtt 100ms")
    assert judged.explanation == ""


def test_a_difference_is_of_pairs() -> None:
    judged = judge(difference={"queue": ["PIE", "CoDel"]}, bounds={"at_least": 9.9})
    assert (judged.verdict, judged.points) == ("holds", 2)
    assert (judged.low, judged.measured, judged.high) == pytest.approx((10, 10, 10))
    assert judged.expected == "delay (PIE less CoDel): at least 9.9"


def test_a_ratio() -> None:
    judged = judge(
        at={"rtt": "20ms"}, ratio={"queue": ["PIE", "CoDel"]}, bounds={"below": 3.2}, unit="times"
    )
    assert judged.measured == pytest.approx((15.1 * 15.2 * 15.3 / (5.1 * 5.2 * 5.3)) ** (1 / 3))
    assert judged.verdict == "holds"
    assert judged.expected == "delay (PIE over CoDel) at rtt 20ms: below 3.2 times"


def test_a_ratio_of_what_is_not_positive_is_refused() -> None:
    runs = RUNS.with_columns(delay=pl.col("delay") - 5.1)
    with pytest.raises(SandglassError, match="delay of rtt 20ms is not above 0 everywhere"):
        judge(runs, ratio={"queue": ["PIE", "CoDel"]}, bounds={"below": 3})


def test_steps_go_by_size_whatever_their_order_in_the_file() -> None:
    assert judge(rises="rtt").verdict == "holds"
    judged = judge(falls="rtt", at={"queue": "CoDel"})
    assert (judged.verdict, judged.place) == ("fails", "queue CoDel, rtt 20ms to 100ms")
    assert judged.expected == "delay at queue CoDel falls with rtt"


def test_one_run_has_no_interval_and_its_value_decides() -> None:
    one = RUNS.filter(pl.col("replica") == 1)
    at = {"queue": "CoDel", "rtt": "20ms"}
    judged = judge(one, at=at, bounds={"below": 5.2})
    assert (judged.verdict, judged.n, judged.low, judged.high) == ("holds", 1, None, None)
    assert judge(one, at=at, bounds={"below": 5.1}).verdict == "fails"


def test_replicas_that_are_alike_are_one_run() -> None:
    alike = RUNS.with_columns(pl.col("delay").first().over("queue", "rtt"))
    for entry in (
        {"at": {"queue": "CoDel", "rtt": "20ms"}, "bounds": {"below": 5}},
        {"difference": {"queue": ["PIE", "CoDel"]}, "bounds": {"below": 10}},
        {"ratio": {"queue": ["PIE", "CoDel"]}, "bounds": {"below": 1}},
        {"falls": "rtt"},
    ):
        judged = judge(alike, **entry)
        assert (judged.n, judged.low, judged.high, judged.verdict) == (1, None, None, "fails")


def test_a_claim_without_a_point_is_an_error() -> None:
    with pytest.raises(SandglassError, match="claim 'short': there is no point"):
        judge(RUNS.clear(), bounds={"below": 6})


def test_table() -> None:
    table = Judged.frame([judge(bounds={"below": 6})])
    assert table.columns == list(Judged.model_fields)
    assert table["verdict"].to_list() == ["fails"]


@pytest.mark.parametrize(
    ("entry", "at", "said"),
    [
        ({}, "", "has no bounds"),
        ({"bounds": {}}, "bounds", "needs one of at_least"),
        ({"bounds": {"les": 3}}, "bounds.les", "Keys here: at_least, above, at_most, below"),
        ({"bounds": {"below": "x"}}, "bounds.below", "valid number"),
        ({"rises": "rtt", "bounds": {"below": 3}}, "", "rises needs no bounds"),
        ({"rises": "rtt", "falls": "rtt"}, "", "rises and falls stand together"),
        ({"ratio": {"queue": ["PIE"]}, "bounds": {"below": 3}}, "ratio", "two labels of one axis"),
        ({"kind": "guessed", "rises": "rtt"}, "kind", "'stated', 'derived', 're-design' or 'own'"),
        ({"at": None, "rises": "rtt"}, "at", "is empty"),
    ],
)
def test_what_is_no_claim_is_refused(entry: dict[str, Any], at: str, said: str) -> None:
    with pytest.raises(ValidationError) as refused:
        Expect.model_validate({"claim": "short", "metric": "delay"} | entry)
    (problem,) = explain(refused.value, Part)
    assert ".".join(map(str, problem[0])) == at
    assert said in problem[1]


@pytest.mark.parametrize(
    ("entry", "at", "said"),
    [
        ({"metric": "dela", "rises": "rtt"}, "metric", "did you mean 'delay'?"),
        ({"at": {"loss": 1}, "bounds": {"below": 3}}, "at.loss", "no axis 'loss'"),
        ({"at": {"queue": "codel"}, "bounds": {"below": 3}}, "at.queue", "did you mean 'CoDel'?"),
        ({"ratio": {"queue": ["PIE", "RED"]}, "bounds": {"below": 3}}, "ratio.queue", "no queue"),
        ({"rises": "rt"}, "rises", "did you mean 'rtt'?"),
        ({"rises": "rtt", "at": {"rtt": "20ms"}}, "at.rtt", "leave it out"),
    ],
)
def test_names_that_a_study_does_not_have(entry: dict[str, Any], at: str, said: str) -> None:
    expect = Expect.model_validate({"claim": "short", "metric": "delay"} | entry)
    ((where, text),) = expect.wrong(AXES, ["delay"])
    assert ".".join(map(str, where)) == at
    assert said in text
