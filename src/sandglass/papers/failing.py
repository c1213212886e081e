"""What of the papers does not agree, by cause, as a page of the documentation."""

from collections.abc import Iterator, Sequence
from typing import get_args

from sandglass.papers import across, numbers, published, reference, rulings, shelf, variants
from sandglass.papers.coverage import cell
from sandglass.papers.rulings import Cause, Judged, Ruling
from sandglass.papers.variants import AT

HEAD = """# What does not agree, and why

The claims of the papers that fail or are open in the
[reference](../docs/pipeline.md#the-reference), gathered by what causes them: the figure that shows
it, which `./sandglass reproduce PAPER/FIGURE --profile paper` makes, and the explanation of the
first claim. Each claim's own explanation, its words and its place stand in the paper's report.
[How a sentence is judged](../docs/pipeline.md#read-a-verdict) says what the words mean. Made from
`pipelines/PAPER/reference/`.
"""
CAUSES: tuple[Cause, ...] = get_args(Cause)[1:]
COLUMNS = (
    *("paper", "sentences", *rulings.WORDS[:-1], "in designs of ours: sentences", "agrees"),
    *("failing claims that hold with an ingredient restored", "printed numbers within a fifth"),
    *("bounds changed", "hold by it", "hold no longer"),
    *(f"cause: {cause}" for cause in CAUSES),
)


def page() -> str:
    """The page in Markdown, of all our papers. Raises SandglassError where one has no reference."""
    found = {name: judged(name) for name in shelf.ours()}
    lines = (line for name, sentences in found.items() for line in _section(name, sentences))
    return "\n".join([HEAD, *_counts(found), "", *lines])


def judged(paper: str) -> list[Ruling]:
    """A paper's sentences in the reference, with the explanations' numbers in place."""
    found = numbers.explained(paper, reference.verdicts(paper))
    return rulings.rulings(paper, found, across.elsewhere(paper, across.set_ups(paper)))


def _counts(papers: dict[str, list[Ruling]]) -> Iterator[str]:
    """A row for each paper; sentences that were measured in designs of ours alone apart."""
    yield f"| {' | '.join(COLUMNS)} |"
    yield "|---|" + "---:|" * (len(COLUMNS) - 1)
    for name, found in papers.items():
        theirs = [each for each in found if not each.own]
        own = [each for each in found if each.own]
        words, fails = rulings.counts(theirs), sum(len(each.failing) for each in found)
        pairs = reference.pairs(name, found)
        row = [
            f"`{name}`",
            len(theirs),
            *(words.get(word, 0) for word in rulings.WORDS[:-1]),
            len(own),
            rulings.counts(own).get("agrees", 0),
            f"{sum(each.flips for each in found)} of {fails}",
            f"{published.near(pairs)} of {len(pairs)}" if pairs else "",
            *rulings.amendments(found),
            *(sum(each.cause == cause for each in found) for cause in CAUSES),
        ]
        yield f"| {' | '.join(map(str, row))} |"


def _section(paper: str, found: Sequence[Ruling]) -> Iterator[str]:
    home, figures = shelf.folder(paper), shelf.paper(paper).figures
    wrong = [each for ruling in found for each in ruling.judged if each.verdict.verdict != "holds"]
    causes: dict[str, list[Judged]] = {}
    for each in wrong:
        isolated = each.claim.isolated
        alone = isolated in ("", each.verdict.figure)
        causes.setdefault(each.name if alone else isolated, []).append(each)
    yield f"## {shelf.paper(paper).head.title}"
    yield ""
    for cause, claims in sorted(causes.items(), key=lambda item: item[0] not in figures):
        title = figures[cause].title if cause in figures else claims[0].claim.quote
        if cause.startswith(AT):
            title = f"Otherwise {variants.read(home, cause.removeprefix(AT)).title}"
        yield f"### {cell(title)}"
        yield ""
        yield cell(claims[0].verdict.explanation)
        yield ""
        for each in claims:
            turned = ", and holds with the cause restored" if each.flips else ""
            expected = each.claim.bounds or f"{each.claim.plotted:g} in one run"
            unit = each.claim.unit and f" {each.claim.unit}"
            yield (
                f"- `{paper}/{each.name}` {each.verdict.verdict} ({each.verdict.kind}){turned}: "
                f"{each.verdict.result}; expected {expected}{unit}"
            )
        yield ""
