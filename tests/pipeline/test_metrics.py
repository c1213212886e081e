"""Metrics that a figure's file says: the same numbers as Polars' own words give."""

from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from sandglass.errors import SandglassError
from sandglass.papers import verdicts
from sandglass.papers.metrics import Metric

TABLE = pl.DataFrame(
    {
        "queue": ["CoDel", "CoDel", "PIE", "PIE", "o'clock"],
        "rtt_ms": [20, 80, 20, 80, 20],
        "delay_ms": [5.0, 6.0, 20.0, 12.0, None],
        "range": [1, 2, 3, 4, 5],
    }
)


def value(table: pl.DataFrame = TABLE, /, **said: Any) -> Any:
    arguments = said.pop("given", {})
    return Metric.model_validate(said).value(table, arguments)


@pytest.mark.parametrize(
    ("said", "given", "number"),
    [
        ({"of": "MAX(delay_ms)"}, {}, 20),
        ({"of": "MAX({column})"}, {"column": "rtt_ms"}, 80),
        ({"of": "AVG({column})"}, {"column": "range"}, 3),
        ({"of": "MAX(delay_ms)", "where": "rtt_ms > {above}"}, {"above": 50}, 12),
        ({"of": "SUM(rtt_ms)", "where": "queue IN ({these})"}, {"these": ["PIE", "o'clock"]}, 120),
        ({"of": "SUM(rtt_ms)"}, {"queue": ["CoDel", "PIE"], "rtt_ms": 80}, 160),
        ({"of": "delay_ms", "where": "delay_ms = MAX(delay_ms)"}, {"queue": "CoDel"}, 6),
        ({"of": "delay_ms"}, {"queue": "PIE", "rtt_ms": 80}, 12),
        ({"of": "delay_ms"}, {"queue": "o'clock"}, None),
        ({"of": "MAX(delay_ms)"}, {"queue": "RED"}, None),
        ({"of": "MAX(delay_ms)", "ratio": {"queue": ["PIE", "CoDel"]}}, {}, 20 / 6),
        ({"of": "delay_ms", "difference": {"queue": ["{queue}", "CoDel"]}}, None, 6),
        ({"of": "MAX(delay_ms)", "ratio": {"queue": ["PIE", "RED"]}}, {}, None),
        ({"of": "AVG(delay_ms > 5)", "where": "delay_ms IS NOT NULL"}, {}, 0.75),
        ({"of": "SUM(rtt_ms) * {by}", "arguments": {"by": 2}}, {"queue": "PIE"}, 200),
        ({"of": "SUM(rtt_ms) * {by}", "arguments": {"by": 2}}, {"queue": "PIE", "by": 3}, 300),
        ({"mean": "MAX(delay_ms)", "over": ["rtt_ms"]}, {}, 16),
        ({"median": "SUM(range)", "over": ["queue"]}, {}, 5),
        ({"trend": "delay_ms", "over": ["rtt_ms"]}, {"queue": "PIE"}, -1),
    ],
)
def test_numbers_of_rows(said: dict[str, Any], given: Any, number: float | None) -> None:
    found = value(**said, given={"queue": "PIE", "rtt_ms": 80} if given is None else given)
    assert found == (number if number is None else pytest.approx(number))


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3), st.floats(0, 9)), min_size=1))
def test_extremes_of_points(rows: list[tuple[int, int, float]]) -> None:
    """A point's number is the metric of its rows; the extreme is over the points."""
    table = pl.DataFrame(rows, schema=["x", "y", "v"], orient="row")
    means = table.group_by("x", maintain_order=True).agg(pl.col("v").mean())
    for kind in ("least", "largest", "farthest"):
        found = value(table, **{kind: "AVG(v)", "over": ["x"]})
        assert found == getattr(verdicts, kind)(means, "v")


def test_points_have_one_number_each() -> None:
    assert value(largest="delay_ms / rtt_ms", over=["queue", "rtt_ms"]).value == 1
    with pytest.raises(SandglassError, match="two rows are the same point"):
        value(least="delay_ms", over=["queue"])


def test_pairs_of_points() -> None:
    pair = {"queue": ["{queue}", "CoDel"]}
    given = {"queue": "PIE"}
    found = value(largest="delay_ms", over=["rtt_ms"], ratio=pair, given=given)
    assert found == verdicts.Extreme(max, {(20,): 4, (80,): 2})
    found = value(least="delay_ms", over=["{x}"], difference=pair, given=given | {"x": "rtt_ms"})
    assert found == verdicts.Extreme(min, {(20,): 15, (80,): 6})


@pytest.mark.parametrize(
    ("said", "given", "says"),
    [
        ({"of": "MAX({column})"}, {}, "says nothing of column"),
        ({"of": "delay_ms"}, {"queue": "PIE"}, "has several rows"),
    ],
)
def test_what_a_claim_lacks(said: dict[str, Any], given: dict[str, Any], says: str) -> None:
    with pytest.raises(SandglassError, match=says):
        value(**said, given=given)


def test_no_column_is_called_so() -> None:
    with pytest.raises(SandglassError, match=r"unable to find column .queu.; valid columns: "):
        value(of="MAX(delay_ms)", given={"queu": "PIE"})


@pytest.mark.parametrize(
    "said",
    [
        {},
        {"of": "MAX(a)", "least": "a", "over": ["b"]},
        {"least": "a"},
        {"of": "MAX(a)", "over": ["b"]},
        {"of": "MAX(a)", "ratio": {"a": ["b"]}},
        {"of": "MAX(a)", "ratio": {"a": ["b", "c"], "d": ["e", "f"]}},
        {"of": "MAX(a)", "ratio": {"a": ["b", "c"]}, "difference": {"a": ["b", "c"]}},
        {"of": "MAX(a)", "whre": "a = 1"},
    ],
)
def test_what_is_no_metric(said: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        Metric.model_validate(said)
