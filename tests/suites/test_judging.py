"""Words: when a difference is better, worse, equal, or undecided."""

from collections.abc import Mapping
from typing import Any

import polars as pl
import pytest

from sandglass.suites import judging
from sandglass.suites.judging import Cell
from sandglass.suites.suite import Margin

DELAY = Margin(better="less", within="10%", least=1)
GOODPUT = Margin(better="more", within="2%")
AT = "drop-tail"


def cells(
    own: list[float], other: list[float], margin: Margin, **points: tuple[list[float], list[float]]
) -> list[Cell]:
    """What is judged of replicas, at one point, and at further ones."""
    rows: list[Mapping[str, Any]] = []
    for place, (new, old) in {"first": (own, other), **points}.items():
        for label, values in (("mine", new), (AT, old)):
            rows += [
                {"queue": label, "place": place, "replica": n, "m": value, "noise": n}
                for n, value in enumerate(values, 1)
            ]
    judged = judging.judge(
        "scenario", pl.DataFrame(rows), ["queue", "place"], "queue", "mine", {"m": margin}
    )
    return judging.holm(judged)


@pytest.mark.parametrize(
    ("own", "other", "margin", "word"),
    [
        ([5.0, 5.1, 4.9, 5.0, 5.0], [60.0, 61.0, 59.0, 60.0, 60.5], DELAY, "better"),
        ([60.0, 61.0, 59.0, 60.0, 60.5], [5.0, 5.1, 4.9, 5.0, 5.0], DELAY, "worse"),
        ([60.0, 61.0, 59.0, 60.0, 60.5], [60.1, 61.2, 58.9, 60.3, 60.4], DELAY, "equal"),
        ([50.0, 70.0, 59.0, 66.0, 52.5], [60.1, 55.2, 66.9, 60.3, 55.4], DELAY, "undecided"),
        # Less than a millisecond is nothing, although it is a third.
        ([2.0, 2.02, 1.98, 2.0, 2.01], [2.8, 2.83, 2.79, 2.8, 2.8], DELAY, "equal"),
        ([9.0, 9.01, 9.02, 9.0, 9.01], [9.5, 9.51, 9.5, 9.52, 9.5], GOODPUT, "worse"),
        ([0.0, 0.0, 0.0], [0.0, 0.0, 0.0], Margin(better="less", least=0.1), "equal"),
        ([0.0, 0.0, 0.0], [0.0, 0.0, 0.0], Margin(better="less", within="10%"), "equal"),
        ([1.0, 1.0, 1.0], [0.0, 0.0, 0.0], Margin(better="less", within="10%"), "worse"),
    ],
)
def test_a_difference_has_its_word(
    own: list[float], other: list[float], margin: Margin, word: str
) -> None:
    (found,) = cells(own, other, margin)
    assert found.word == word


def test_what_is_the_same_is_equal_with_a_difference_of_0() -> None:
    same = [9.1, 8.7, 9.9]
    (found,) = cells(same, same, GOODPUT)
    assert (found.difference, found.low, found.high, found.word) == (0, 0, 0, "equal")


def test_one_replica_decides_nothing() -> None:
    (found,) = cells([1.0], [100.0], DELAY)
    assert (found.word, found.low, found.needed(1)) == ("undecided", None, None)


def test_many_cells_ask_for_more() -> None:
    """What one cell alone decides is likely among many (Holm)."""
    own, other = [9.0, 9.02, 9.05], [9.5, 9.52, 9.51]
    (alone,) = cells(own, other, GOODPUT)
    assert alone.word == "worse"
    crowd = judging.holm([alone] * 50)
    assert {each.word for each in crowd} == {"likely worse"}
    needed = crowd[0].needed(50)
    assert needed is not None
    assert 3 < needed < 20


def test_points_with_few_replicas_share_their_spread() -> None:
    own, other = [9.0, 9.01, 9.05], [9.5, 9.5, 9.5]
    more = ([9.02, 9.0, 9.04], [9.5, 9.51, 9.5])
    alone = cells(own, other, GOODPUT)[0]
    shared = cells(own, other, GOODPUT, second=more)[0]
    assert (alone.pooled, shared.pooled) == (False, True)
    assert alone.p is not None
    assert shared.p is not None
    assert shared.p < alone.p


def test_a_point_that_varies_otherwise_keeps_its_own_spread() -> None:
    steady = ([9.0, 9.0001, 9.0002], [9.5, 9.5, 9.5])
    wild = ([5.0, 9.0, 7.0], [9.5, 9.5, 9.5])
    assert not any(each.pooled for each in cells(*steady, GOODPUT, second=wild))
