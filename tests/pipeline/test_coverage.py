"""Nothing that a source states is without a word, and pages say what became of it.

One page is of all of it, the other of what fails.
"""

from pathlib import Path
from typing import Any

import pytest
import yaml

from sandglass.errors import UsageError
from sandglass.papers import coverage, failing, reference, shelf

MOST_WORDS = 40
"""Of an explanation, with its numbers in place: more cannot be followed in a row."""


@pytest.mark.parametrize("paper", shelf.papers())
def test_every_item_has_a_word_and_every_claim_an_item(paper: str) -> None:
    assert coverage.items(paper)


def test_every_item_is_on_the_page() -> None:
    page = coverage.page()
    items = [item for paper in shelf.ours() for item in coverage.items(paper)]
    assert len([line for line in page.splitlines() if line.startswith("| ")]) == (
        len(items) + len(shelf.ours())
    )
    assert all(coverage.cell(item.says) in page for item in items)


def test_what_does_not_agree_is_on_the_page_with_its_numbers() -> None:
    page = failing.page()
    failed = [
        f"- `{paper}/{each.figure}/{each.claim}` {each.verdict} ({each.kind})"
        for paper in shelf.ours()
        for each in reference.verdicts(paper)
        if each.sentence == "claim" and each.verdict != "holds"
    ]
    assert len(failed) > 100
    assert all(line in page for line in failed)
    assert "{{" not in page
    counted = [line for line in page.splitlines() if line.startswith("| `")]
    assert len(counted) == len(shelf.ours())


def test_another_papers_claim_judges_an_item() -> None:
    assert "`dctcp_internet/sender/equation-2` (check) holds" in coverage.page()


@pytest.mark.parametrize("paper", shelf.papers())
def test_nothing_that_fails_is_without_a_word(paper: str) -> None:
    assert [name for name, explanation in explanations(paper).items() if not explanation] == []


@pytest.mark.parametrize("paper", shelf.papers())
def test_an_explanation_has_few_words(paper: str) -> None:
    words = {name: len(explanation.split()) for name, explanation in explanations(paper).items()}
    assert {name: count for name, count in words.items() if count > MOST_WORDS} == {}


def explanations(paper: str) -> dict[str, str]:
    """Why each claim of a paper does not hold that fails or is open, as the page has it."""
    return {
        each.name: each.verdict.explanation.strip()
        for ruling in failing.judged(paper)
        for each in ruling.judged
        if each.verdict.verdict != "holds"
    }


WORD = {"place": "Fig. 1", "says": "it is full"}


@pytest.mark.parametrize(
    ("items", "says"),
    [
        ([WORD], "needs one of claims, not_measured, missing"),
        ([WORD | {"claims": ["fig05/a"], "missing": "a run"}], "needs one of"),
        ([WORD | {"missing": "a run", "note": "x"}], "note"),
        ([], "items"),
        ([WORD | {"claims": ["fig05/nowhere"]}], "there is no claim fig05/nowhere"),
        ([WORD | {"claims": ["dctcp_internet/sender/no"]}], "no claim dctcp_internet/sender/no"),
        ([WORD | {"missing": "a run"}], "no item has the claim backoffs/cubic-halves"),
    ],
)
def test_what_is_wrong_with_a_list(
    items: list[dict[str, Any]], says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for path in (shelf.PIPELINES / "abe").glob("*.yaml"):
        (tmp_path / path.name).write_text(path.read_text())
    (tmp_path / shelf.SOURCES).write_text(yaml.safe_dump({"items": items}))
    monkeypatch.setattr(shelf, "folder", lambda _: tmp_path)
    with pytest.raises(UsageError, match=says):
        coverage.items("abe")
