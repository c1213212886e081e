"""The page of a paper, and the one over all: what is counted, and what is said of each claim."""

import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from sandglass.papers import report, rulings, shelf
from sandglass.papers.report import Section, Whole
from sandglass.papers.sentences import Entry, Quoted
from sandglass.papers.verdicts import Verdict
from tests.pipeline.test_provenance import SOURCE
from tests.pipeline.test_rulings import judged

FIGURE = shelf.Figure(
    title="Fig. 3: throughput",
    caption="One flow.",
    setup=shelf.Setup(stated=["one flow"]),
    runs=[{"experiment": ["one"]}],
    sentences=[Quoted(claims=[Entry(id="full")])],
)
RUNS = pl.DataFrame({"virtual_s": [90.0, 90.0], "wall_s": [2.0, 1.0]})


def verdict(claim: str, **changes: Any) -> Verdict:
    content = {
        "paper": "TR-1",
        "figure": "fig03",
        "claim": claim,
        "sentence": "claim",
        "kind": "stated",
        "quote": "it is <full>",
        "where": "Abstract",
        "expected": "share: at least 0.95",
        "n": 8,
        "measured": 0.97,
        "low": 0.96,
        "high": 0.98,
        "verdict": "holds",
    }
    return Verdict.model_validate(content | changes)


VERDICTS = [
    verdict("full", n=1, low=None, high=None),
    verdict("short", verdict="open", amended="2026-05-01: was at most 5, fails; Sec. II"),
    verdict("far", verdict="fails", explanation="It is **empty**.", isolated="fig05"),
    verdict("later", verdict="not judged", n=None, measured=None, low=None, high=None),
    verdict("plotted", kind="derived", quantile=0.25),
    verdict("formula", sentence="check"),
    verdict("ours", sentence="finding", verdict="fails"),
]


SENTENCES = [
    rulings.Ruling("it gains 13 %", [judged("fails", 20, 19, 21, figure="fig03", id="far")]),
    rulings.Ruling("it is <full>", [judged("holds", 0.97, figure="fig03", id="full")]),
]


def section(name: str, verdicts: list[Verdict]) -> Section:
    return Section(name, FIGURE, b"<svg/>", SOURCE, verdicts)


def text(page: str) -> str:
    """What a reader sees, without the markup."""
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", page))


@pytest.fixture
def paper(tmp_path: Path) -> shelf.Paper:
    (tmp_path / "paper.yaml").write_text("paper: TR-1\ntitle: A paper\n")
    (tmp_path / "abstract.md").write_text("Most of it **holds**.\n")
    return shelf.at(tmp_path)


@pytest.fixture
def page(paper: shelf.Paper) -> str:
    sections = [section("fig03", VERDICTS), section("fig05", [])]
    whole = Whole(paper.abstract, SENTENCES, b"<svg/>", "Ours is within a fifth of 1 of 2", RUNS)
    return report.page("tr1", paper.head, sections, whole)


def test_claims_are_counted_without_checks_and_findings(page: str) -> None:
    assert report.headline(VERDICTS) == [
        "2 of 4 claims hold, 1 open, 1 fail, 1 not judged (1 by one run)",
        "1 of 1 checks hold",
        "0 of 1 findings hold, 1 fail",
    ]
    assert all(line in text(page) for line in report.headline(VERDICTS))


def test_what_is_said_of_a_claim(page: str) -> None:
    shown = text(page)
    assert (
        "it is &lt;full&gt; Abstract; stated share: at least 0.95 0.97 0.96 to 0.98, n = 8" in shown
    )
    assert "Amended 2026-05-01: was at most 5, fails; Sec. II" in shown
    assert "0.96 to 0.98 are 95 % of ours; quantile 0.25, n = 8" in shown
    assert "It is <strong>empty</strong>." in page
    assert '<a href="#fig05">fig05</a>' in page
    assert "Most of it <strong>holds</strong>." in page


def test_links_lead_somewhere(page: str) -> None:
    targets = set(re.findall(r'href="#([^"]+)"', page))
    assert targets <= set(re.findall(r'\bid="([^"]+)"', page))
    assert "fig03-far" in targets


def test_cost_counts_shared_runs_once(page: str) -> None:
    assert "all, shared runs once 2 180 3 60" in text(page)


def test_the_page_of_a_figure_has_it_alone(paper: shelf.Paper) -> None:
    page = report.page("tr1", paper.head, [section("fig03", VERDICTS)], None)
    assert "All claims" not in page
    assert "Most of it" not in page
    assert "Isolated in ./sandglass reproduce tr1/fig05" in text(page)


def test_all_papers(paper: shelf.Paper) -> None:
    page = report.index({"tr1": (paper, VERDICTS, SENTENCES)}, "quick")
    assert "made in the profile quick" in text(page)
    assert "TR-1 2 1 1 0 0 0 0 5 2 1 1 1 1 of 3 1 of 1 1 of 1 0 of 1" in text(page)
    failing = re.findall(r'href="(tr1/report.html#[^"]+)"', page)
    assert failing == ["tr1/report.html#fig03-short", "tr1/report.html#fig03-far"]
