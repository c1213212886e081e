"""The pages of papers, one file each: how a source's numbers and sentences fare, then its figures
with their set-up, origin and verdicts."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import get_args

import polars as pl

from sandglass.papers import rulings
from sandglass.papers.provenance import Provenance
from sandglass.papers.rulings import Ruling
from sandglass.papers.sentences import Sentence
from sandglass.papers.shelf import PIPELINES, Figure, Paper, PaperHead
from sandglass.papers.variants import AT
from sandglass.papers.verdicts import WORDS, Verdict, counts
from sandglass.results.pages import environment, number
from sandglass.studies.bounds import Kind
from sandglass.studies.page import SIGNS, Cell, Head, Table

TEMPLATE = "report.html.jinja"
INDEX = "index.html.jinja"
CAPTIONS: dict[Sentence, str] = {
    "claim": "What the paper says of it, and what was measured",
    "check": "Checks of our implementation against formulas",
    "finding": "Findings of ours",
}


@dataclass(frozen=True)
class Section:
    """One figure of the page; `image` is its SVG."""

    name: str
    about: Figure
    image: bytes
    source: Provenance
    verdicts: list[Verdict]

    def of(self, sentence: Sentence) -> list[Verdict]:
        """Its claims, checks or findings."""
        return [verdict for verdict in self.verdicts if verdict.sentence == sentence]


@dataclass(frozen=True)
class Whole:
    """What the page of a whole paper has before and after its figures."""

    abstract: str
    """Markdown."""
    sentences: Sequence[Ruling]
    numbers: bytes | None
    """The scatter of printed numbers as SVG, where the source prints any."""
    told: str
    """The scatter in words."""
    runs: pl.DataFrame
    """The list of all runs (`provenance.listing`)."""


def page(home: str, paper: PaperHead, sections: list[Section], whole: Whole | None) -> str:
    """The page of a figure, or of the whole paper.

    Everything but the markdown of abstract and explanations is escaped.
    """
    verdicts = [verdict for section in sections for verdict in section.verdicts]
    return (
        environment(PIPELINES)
        .get_template(TEMPLATE)
        .render(
            home=home,
            paper=paper,
            variant=AT in home,
            sections=sections,
            whole=whole,
            headline=(rulings.headline(whole.sentences) if whole else []) + headline(verdicts),
            captions=CAPTIONS.items(),
            sentences=_sentences(whole.sentences) if whole else None,
            claims=_claims(verdicts),
            cost=_cost(sections, whole.runs) if whole else None,
            signs=SIGNS,
        )
    )


def index(
    papers: Mapping[str, tuple[Paper, Sequence[Verdict], Sequence[Ruling]]], profile: str
) -> str:
    """The page over all papers, made in a profile: what became of each, and what does not hold."""
    heads = [Head("paper", number=False), Head("sentences")]
    heads += [Head(word) for word in rulings.WORDS]
    heads += [Head("claims"), *(Head(word) for word in WORDS)]
    heads += [Head(f"{kind}: hold") for kind in get_args(Kind)]
    heads += [Head("checks hold"), Head("findings hold")]
    rows, failing = [], []
    for name, (about, verdicts, sentences) in papers.items():
        claims = [each for each in verdicts if each.sentence == "claim"]
        words, found = rulings.counts(sentences), counts(claims)
        row = [Cell(about.head.paper, about.head.paper, href=f"{name}/report.html")]
        row += [_number(len(sentences)), *(_number(words.get(word, 0)) for word in rulings.WORDS)]
        row += [_number(len(claims)), *(_number(found.get(word, 0)) for word in WORDS)]
        row += [_holding(each for each in claims if each.kind == kind) for kind in get_args(Kind)]
        row += [
            _holding(each for each in verdicts if each.sentence == sentence)
            for sentence in ("check", "finding")
        ]
        rows.append(row)
        failing += [
            [Cell(about.head.paper, about.head.paper), *_row(each, f"{name}/report.html")]
            for each in claims
            if each.verdict in ("fails", "open")
        ]
    return (
        environment(PIPELINES)
        .get_template(INDEX)
        .render(
            profile=profile,
            papers=Table(heads, rows),
            failing=Table([Head("paper", number=False), *CLAIM_HEADS], failing),
        )
    )


def headline(verdicts: Sequence[Verdict]) -> list[str]:
    """A line for claims, checks and findings: 90 of 100 claims hold, 10 fail (all by one run)."""
    lines = []
    for sentence in get_args(Sentence):
        own = [each for each in verdicts if each.sentence == sentence]
        judged = [each for each in own if each.verdict != "not judged"]
        if not own:
            continue
        found = counts(own)
        holds = found.pop("holds", 0)
        rest = "".join(f", {count} {word.removesuffix('s')}" for word, count in found.items())
        single = sum(each.n == 1 for each in judged)
        alone = f" ({'all' if single == len(judged) else single} by one run)" if single else ""
        lines.append(f"{holds} of {len(judged)} {sentence}s hold{rest}{alone}")
    return lines


CLAIM_HEADS = [
    Head("figure", number=False),
    Head("claim", number=False),
    Head("kind", number=False),
    Head("measured"),
    Head("n"),
    Head("verdict", number=False),
]


SENTENCE_HEADS = [
    Head("sentence", number=False),
    Head("verdict", number=False),
    Head("claims that hold", number=False),
    Head("printed, and ours", number=False),
    Head("cause", number=False),
]
RULING_SIGNS = dict(zip(rulings.WORDS, ("✓", "≈", "≠", "✗", "?", ""), strict=True))


def _sentences(found: Iterable[Ruling]) -> Table:
    """The sentences of a source: those that do not agree first, of these those with numbers."""
    order = ("contradicted", *rulings.DISAGREES[:-1], "not decided", "agrees", "not judged")
    rows = []
    for each in sorted(found, key=lambda one: (order.index(one.verdict), not one.numbers)):
        first = each.claims[0].verdict
        word = each.verdict
        cause: str = each.cause
        if each.agrees_in and cause:
            cause += f": it agrees in {', '.join(each.agrees_in)}"
        if cause and each.flips:
            cause += f"; {each.flips} of {len(each.failing)} hold with an ingredient restored"
        rows.append(
            [
                Cell(each.quote, each.quote, "quote", f"#{first.figure}-{first.claim}"),
                Cell(f"{RULING_SIGNS[word]} {word}".strip(), word, f"verdict {_class(word)}"),
                Cell(f"{each.agree} of {len(each.judged)}" if each.judged else "", each.agree),
                Cell(numbers := _printed(each), numbers, "words"),
                Cell(cause, cause, "words"),
            ]
        )
    return Table(SENTENCE_HEADS, rows)


def _printed(ruling: Ruling) -> str:
    """What the source prints in a sentence, and what was measured: 13, 24 % (ours 12.8, 23.1)."""
    own = [each for each in ruling.numbers if each.verdict.measured is not None]
    if not own:
        return ""
    theirs = ", ".join(number(each.claim.number) for each in own)
    ours = ", ".join(number(each.verdict.measured) for each in own)
    units = {each.claim.unit for each in own}
    unit = f" {units.pop()}".rstrip() if len(units) == 1 else ""
    return f"{theirs}{unit} (ours {ours})"


def _class(word: str) -> str:
    """The class of a verdict's colour: those of a claim's words."""
    return {"agrees": "holds", "not decided": "open", "not judged": "not-judged"}.get(word, "fails")


def _claims(verdicts: Iterable[Verdict]) -> Table:
    rows = [[Cell(verdict.sentence, verdict.sentence), *_row(verdict, "")] for verdict in verdicts]
    return Table([Head("sentence", number=False), *CLAIM_HEADS], rows)


def _row(verdict: Verdict, page: str) -> list[Cell]:
    sign = SIGNS.get(verdict.verdict, "")  # type: ignore[arg-type]
    return [
        Cell(verdict.figure, verdict.figure),
        Cell(verdict.claim, verdict.claim, href=f"{page}#{verdict.figure}-{verdict.claim}"),
        Cell(verdict.kind, verdict.kind),
        _number(verdict.measured),
        _number(verdict.n),
        Cell(
            f"{sign} {verdict.verdict}".strip(),
            verdict.verdict,
            f"verdict {verdict.verdict.replace(' ', '-')}",
        ),
    ]


def _cost(sections: Sequence[Section], runs: pl.DataFrame) -> Table:
    """Of each figure and of the paper, whose figures share runs."""
    heads = [Head("figure", number=False), Head("runs"), Head("simulated (s)")]
    heads += [Head("wall (s), one core"), Head("ratio")]
    costs = [
        (each.about.title, each.source.runs, each.source.virtual_s, each.source.wall_s)
        for each in sections
    ]
    totals = [float(runs[column].sum()) for column in ("virtual_s", "wall_s")]
    costs.append(("all, shared runs once", len(runs), totals[0], totals[1]))
    rows = [
        [Cell(title, title), *map(_number, (n, virtual_s, wall_s, virtual_s / wall_s))]
        for title, n, virtual_s, wall_s in costs
    ]
    return Table(heads, rows)


def _holding(verdicts: Iterable[Verdict]) -> Cell:
    """How many hold, of how many that were judged."""
    words = [each.verdict for each in verdicts if each.verdict != "not judged"]
    if not words:
        return Cell("", "", "number")
    holds = words.count("holds")
    return Cell(f"{holds} of {len(words)}", holds / len(words), "number")


def _number(value: float | None) -> Cell:
    return Cell(number(value), "" if value is None else value, "number")
