"""What of each source is covered by claims: python -m sandglass.papers.coverage makes the page.

A paper's sources.yaml lists what its source states that could be measured, in the order of the
text. Each item has claims that judge it, or says why none does.
"""

from collections.abc import Iterator, Mapping
from typing import Annotated

from pydantic import Field, model_validator

from sandglass.errors import SandglassError, UsageError
from sandglass.experiment.part import Part
from sandglass.papers import reference, shelf
from sandglass.papers.claims import claims
from sandglass.papers.sentences import Sentence
from sandglass.papers.strict import parse
from sandglass.papers.verdicts import Verdict

KINDS = ("claims", "not_measured", "missing")
HEAD = """# What of each paper is covered

What each source states in figures, tables, equations and sentences that compare or count, in the
order of the text, with the claims that judge it and what became of them in the
[reference](../docs/pipeline.md#the-reference); or why none does. Made from
`pipelines/PAPER/`, its `sources.yaml` and its `reference/`.

*Not measured* is what no network laboratory can measure, such as what other people found. *Missing*
is what could be measured and is not yet, with the experiment that would.
"""


class Item(Part):
    """One thing that a source states: it has claims, or a reason why not, or is missing."""

    place: str
    """Where in the source: a figure, a table, a section."""
    says: str
    """Its words, or in short what it says."""
    claims: list[str] = Field(default_factory=list)
    """FIGURE/CLAIM, or PAPER/FIGURE/CLAIM where another paper's judges it."""
    not_measured: str = ""
    """Why no network laboratory can measure it."""
    missing: str = ""
    """The experiment that would measure it."""

    @model_validator(mode="after")
    def _one_word(self) -> "Item":
        if sum(bool(getattr(self, kind)) for kind in KINDS) != 1:
            raise ValueError(f"needs one of {', '.join(KINDS)}")
        return self


class Sources(Part):
    """A paper's sources.yaml."""

    items: Annotated[list[Item], Field(min_length=1)]


def items(paper: str) -> list[Item]:
    """What a paper's source states.

    Raises UsageError when the file is malformed, an item names a claim that is not there, or a
    claim is in no item.
    """
    path = shelf.folder(paper) / shelf.SOURCES
    found = parse(path, Sources).items
    known = _claims(paper)
    named = {claim for item in found for claim in item.claims}
    others = {
        f"{other}/{name}"
        for other in shelf.papers()
        if any(claim.startswith(f"{other}/") for claim in named)
        for name in _claims(other)
    }
    if unknown := sorted(named - known.keys() - others):
        raise UsageError(f"{path}: there is no claim {', '.join(unknown)}")
    stated = {name for name, sentence in known.items() if sentence == "claim"}
    if left := sorted(stated - named):
        raise UsageError(
            f"{path}: no item has the claim {left[0]}",
            f"and {len(left) - 1} more" if left[1:] else None,
        )
    return found


def _claims(paper: str) -> dict[str, Sentence]:
    """A paper's claims by their names, FIGURE/CLAIM, with what kind of sentence each is."""
    return {
        f"{figure}/{claim.id}": claim.sentence
        for figure in shelf.paper(paper).figures
        for claim in claims(paper, figure)
    }


def page() -> str:
    """The page in Markdown, of all our papers."""
    verdicts = {name: _verdicts(name) for name in shelf.ours()}
    return "\n".join([HEAD, *(line for name in verdicts for line in _section(name, verdicts))])


def _section(paper: str, of_papers: Mapping[str, Mapping[str, Verdict]]) -> Iterator[str]:
    """What is said of a paper; of all of them the verdicts by their names."""
    about, found = shelf.paper(paper).head, items(paper)
    verdicts = dict(of_papers[paper]) | {
        f"{other}/{name}": each for other, own in of_papers.items() for name, each in own.items()
    }
    if unknown := sorted({name for item in found for name in item.claims} - verdicts.keys()):
        raise SandglassError(
            f"the reference of {paper} has no verdict on {unknown[0]}",
            f"judge its tables again: ./sandglass reference {paper} --judge",
        )
    counts = [sum(bool(getattr(item, kind)) for item in found) for kind in KINDS]
    beside = sum(
        bool(item.claims) and all(verdicts[name].sentence != "claim" for name in item.claims)
        for item in found
    )
    yield f"## {about.title}"
    yield ""
    yield (
        f"{about.paper}: {len(found)} items, of which {counts[0] - beside} have claims, {beside} "
        f"checks or findings alone, {counts[1]} are not measured, and {counts[2]} are missing."
    )
    yield ""
    yield "| where | what it says | what became of it |"
    yield "|---|---|---|"
    for item in found:
        became = ", ".join(_told(verdicts[name], name) for name in item.claims)
        if item.not_measured:
            became = f"*Not measured*: {item.not_measured}"
        elif item.missing:
            became = f"*Missing*: {item.missing}"
        yield f"| {cell(item.place)} | {cell(item.says)} | {cell(became)} |"
    yield ""


def _verdicts(paper: str) -> dict[str, Verdict]:
    """What the reference says of a paper's claims, by their names."""
    return {f"{each.figure}/{each.claim}": each for each in reference.verdicts(paper)}


def _told(verdict: Verdict, name: str) -> str:
    kind = "" if verdict.sentence == "claim" else f" ({verdict.sentence})"
    return f"`{name}`{kind} {verdict.verdict}"


def cell(text: str) -> str:
    """Text in one cell of a table in Markdown."""
    return " ".join(text.split()).replace("|", "\\|")
