"""What the papers' sentences become that do not agree, and why, as a page of the documentation."""

from collections.abc import Iterator, Sequence

from sandglass.papers import numbers, published, reference, rulings, shelf
from sandglass.papers.coverage import cell
from sandglass.papers.report import printed
from sandglass.papers.rulings import Judged, Ruling
from sandglass.papers.verdicts import result

HEAD = """# What does not agree, and why

Each sentence of the papers that does not agree in the
[reference](../docs/pipeline.md#the-reference), with the claims under it that fail or are open: what
was measured, why, and the figure that shows the cause, where there is one, which
`./sandglass reproduce PAPER/FIGURE --profile paper` makes. [How a sentence is
judged](../docs/pipeline.md#read-a-verdict) says what the words mean. Made from
`pipelines/PAPER/reference/`.
"""
COLUMNS = (
    *("paper", "sentences", *rulings.WORDS[:-1], "in designs of ours: sentences", "agrees"),
    *("failing claims that hold with an ingredient restored", "printed numbers within a fifth"),
    *("bounds changed", "hold by it", "hold no longer"),
)


def page() -> str:
    """The page in Markdown, of all our papers. Raises SandglassError where one has no reference."""
    found = {name: judged(name) for name in shelf.ours()}
    lines = (line for name, sentences in found.items() for line in _section(name, sentences))
    return "\n".join([HEAD, *_counts(found), "", *lines])


def judged(paper: str) -> list[Ruling]:
    """A paper's sentences in the reference, with the explanations' numbers in place."""
    return rulings.rulings(paper, numbers.explained(paper, reference.verdicts(paper)))


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
        ]
        yield f"| {' | '.join(map(str, row))} |"


def _section(paper: str, found: Sequence[Ruling]) -> Iterator[str]:
    yield f"## {shelf.paper(paper).head.title}"
    yield ""
    for ruling in found:
        wrong = [each for each in ruling.judged if each.verdict.verdict != "holds"]
        if not wrong:
            continue
        cause = f", {ruling.cause}" if ruling.cause else ""
        both = f" Printed: {printed(ruling)}." if ruling.numbers else ""
        yield f"### “{cell(ruling.quote)}”"
        yield ""
        yield (
            f"{cell(ruling.where)}. **{ruling.verdict}**{cause}; "
            f"{ruling.agree} of {len(ruling.judged)} claims hold.{both}"
        )
        yield ""
        told: set[str] = set()
        for each in wrong:
            yield from _claim(paper, each, told)
        yield ""


def _claim(paper: str, found: Judged, told: set[str]) -> Iterator[str]:
    """A claim in a line, and why; what several have in common is told once."""
    each = found.verdict
    turned = ", and holds with the cause restored" if found.flips else ""
    shown = f" Shown by `{paper}/{each.isolated}`." if each.isolated else ""
    yield (
        f"- `{found.name}` {each.verdict} ({each.kind}){turned}: {cell(each.expected)}; "
        f"measured {result(each)}.{shown}"
    )
    if each.explanation not in told:
        told.add(each.explanation)
        yield f"  {cell(each.explanation)}"
