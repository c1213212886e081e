"""A sentence is judged as a whole: its directions first, then how many of its numbers are near."""

from typing import Any

import polars as pl
import pytest

from sandglass.papers import across, reference, rulings, shelf
from sandglass.papers.rulings import Judged, Ruling
from sandglass.papers.sentences import Claim
from sandglass.papers.verdicts import Verdict

GAIN: dict[str, Any] = {"printed": 13.0, "bounds": {"at_least": 10.4, "at_most": 15.6}, "unit": "%"}
MORE: dict[str, Any] = {"bounds": {"above": 1}}
SHARE: dict[str, Any] = {"bounds": {"at_least": 0.95}}


def judged(
    outcome: str,
    measured: float | None = None,
    low: float | None = None,
    high: float | None = None,
    *,
    figure: str = "fig07",
    id: str = "gain",  # noqa: A002 as the file has it
    flips: bool = False,
    **said: Any,
) -> Judged:
    """A claim with its verdict; by itself it says that the source prints 13 %."""
    measure = {} if {"bounds", "plotted"} & said.keys() else GAIN
    claim = Claim.model_validate(
        {
            "id": id,
            "quote": "it gains",
            "where": "Abstract",
            "kind": "stated",
            "statement": "gain",
            "metric": "gain",
        }
        | measure
        | said
    )
    found = {"verdict": outcome, "measured": measured, "low": low, "high": high, "n": 4}
    return Judged(claim, Verdict.on(claim, "TR-1", figure, found), flips)


def ruling(*claims: Judged) -> Ruling:
    return Ruling("it gains", claims)


def test_most_of_the_numbers_have_to_be_near() -> None:
    near, far = judged("holds", 13.1, 13, 13.2), judged("fails", 20, 19, 21)
    assert ruling(near, near, far).verdict == "agrees"
    assert ruling(near, far).verdict == "differs in size"
    assert ruling(near, near, judged("fails", 20, 19, 21, needs="all")).verdict == "differs in size"


def test_a_number_of_the_other_sign_contradicts() -> None:
    near = judged("holds", 13.1, 13, 13.2)
    assert ruling(near, near, judged("fails", -2, -3, -1)).verdict == "contradicted"
    assert ruling(near, near, judged("fails", -2, -5, 1)).verdict == "not decided"


def test_a_wrong_direction_contradicts_whatever_the_numbers() -> None:
    near = judged("holds", 13.1, 13, 13.2)
    assert ruling(near, near, judged("fails", 0.9, 0.8, 0.95, **MORE)).verdict == "contradicted"
    assert ruling(near, near, judged("open", 1.0, 0.8, 1.2, **MORE)).verdict == "not decided"
    assert ruling(judged("holds", 1.1, 1.05, 1.2, **MORE)).verdict == "agrees"


def test_a_bound_that_is_no_turn_is_a_size() -> None:
    assert ruling(judged("fails", 0.9, 0.8, 0.91, **SHARE)).verdict == "differs in size"
    strong: dict[str, Any] = {"bounds": {"at_least": 0.9}, "turns_at": 0}
    assert ruling(judged("fails", 0.5, 0.4, 0.6, **strong)).verdict == "differs in size"
    assert ruling(judged("fails", -0.5, -0.6, -0.4, **strong)).verdict == "contradicted"


def test_a_unit_has_no_turn_at_one() -> None:
    claim = judged("fails", 0.9, 0.8, 0.95, bounds={"above": 1}, unit="ms").claim
    assert claim.turn is None


def test_open_numbers_decide_where_they_could() -> None:
    near, still = judged("holds", 13.1, 13, 13.2), judged("open", 16, 15, 17)
    assert ruling(near, near, still).verdict == "agrees"
    assert ruling(near, still).verdict == "not decided"
    assert ruling(judged("fails", 20, 19, 21), still).verdict == "differs in size"


def test_the_runs_of_a_plotted_value_scatter_and_their_mean_has_a_side() -> None:
    assert ruling(judged("fails", 30.0, -10.0, 70.0, plotted=90.0)).verdict == "differs in size"


def test_nothing_judged() -> None:
    found = ruling(judged("not judged"))
    assert (found.verdict, found.cause, found.agree) == ("not judged", "", 0)


def test_causes() -> None:
    far = judged("fails", 20, 19, 21)
    assert ruling(far).cause == "unexplained"
    assert ruling(judged("fails", 20, 19, 21, kind="re-design")).cause == "our choice"
    assert ruling(judged("holds", 13, 12, 14)).cause == ""
    turned = ruling(judged("fails", 20, 19, 21, flips=True), far)
    assert (turned.flips, turned.cause) == (1, "unexplained")


def test_what_is_said_of_a_paper() -> None:
    near = ruling(judged("holds", 13, 12, 14))
    own = ruling(judged("fails", 20, 19, 21, kind="re-design"))
    amended = {"date": "2026-05-01", "was": "at most 5", "outcome": "fails", "reason": "Sec. II"}
    changed = ruling(judged("holds", 13, 12, 14, amended=[amended]))
    assert rulings.headline([near, changed, own]) == [
        "2 of 2 sentences agree",
        "0 of 1 sentences, in designs of ours, agree, 1 differs in size",
        "1 bounds were changed: 1 claims hold by it, 0 no longer",
    ]


@pytest.mark.parametrize("paper", shelf.ours())
def test_the_list_of_sentences_is_that_of_the_verdicts(paper: str) -> None:
    """`./sandglass reference PAPER --judge` writes it."""
    found = rulings.rulings(paper, reference.verdicts(paper))
    listed = pl.read_csv(shelf.reference(paper) / reference.SENTENCES)
    set_ups = across.set_ups(paper)
    assert listed.with_columns(pl.col(pl.String).fill_null("")).equals(across.table(set_ups))
    # What names the figure that restores its cause holds there.
    named = [each for ruled in found for each in ruled.failing if each.claim.flips]
    assert [each.name for each in named if not each.flips] == []
