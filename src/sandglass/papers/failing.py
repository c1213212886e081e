"""What of the papers does not hold, and why, as a page of the documentation."""

from collections.abc import Iterator, Sequence
from typing import get_args

from sandglass.papers import numbers, reference, shelf
from sandglass.papers.coverage import cell
from sandglass.papers.verdicts import Verdict, counts, result
from sandglass.studies.bounds import Outcome

WORDS = get_args(Outcome)
HEAD = """# What does not hold, and why

Every claim of the papers that fails or is open in the
[reference](../docs/pipeline.md#the-reference): what was measured, the explanation, and the figure
that shows the cause, where there is one, which
`./sandglass reproduce PAPER/FIGURE --profile paper` makes. Checks and findings are not counted
here. Made from `pipelines/PAPER/reference/`.
"""


def page() -> str:
    """The page in Markdown, of all our papers. Raises SandglassError where one has no reference."""
    papers = {name: judged(name) for name in shelf.ours()}
    sections = (line for name, found in papers.items() for line in _section(name, found))
    return "\n".join([HEAD, *_counts(papers), "", *sections])


def judged(paper: str) -> list[Verdict]:
    """The verdicts on a paper's claims in the reference."""
    found = numbers.explained(paper, reference.verdicts(paper))
    return [each for each in found if each.sentence == "claim" and each.verdict in WORDS]


def _counts(papers: dict[str, list[Verdict]]) -> Iterator[str]:
    """How many hold, fail and are open, and of those that fail how many have a figure of why."""
    heads = ["paper", *WORDS, "of them stated: holds", *WORDS[1:], "failing, with its cause shown"]
    yield f"| {' | '.join(heads)} |"
    yield "|---|" + "---:|" * (len(heads) - 1)
    for name, found in papers.items():
        yield f"| `{name}` | {_row(found)} |"
    every = [each for found in papers.values() for each in found]
    yield f"| together | {_row(every)} |"
    yield ""
    holding = [each for each in every if each.verdict == "holds"]
    of_all = 100 * len(holding) / len(every)
    of_stated = 100 * len(_stated(holding)) / len(_stated(every))
    yield (
        f"{len(holding)} of {len(every)} claims hold, {of_all:.0f} %; of stated ones "
        f"{of_stated:.0f} %."
    )


def _row(found: Sequence[Verdict]) -> str:
    numbers = [counts(own).get(word, 0) for own in (found, _stated(found)) for word in WORDS]
    fails = [each for each in found if each.verdict == "fails"]
    shown = f"{sum(bool(each.isolated) for each in fails)} of {len(fails)}"
    return " | ".join([*map(str, numbers), shown])


def _stated(found: Sequence[Verdict]) -> list[Verdict]:
    return [each for each in found if each.kind == "stated"]


def _section(paper: str, found: Sequence[Verdict]) -> Iterator[str]:
    yield f"## {shelf.paper(paper).head.title}"
    yield ""
    yield "| claim | what it is, and what was measured | why | shown by |"
    yield "|---|---|---|---|"
    for each in found:
        if each.verdict != "holds":
            told = f"{each.expected}; measured {result(each)}"
            shown = f"`{paper}/{each.isolated}`" if each.isolated else ""
            claim = f"`{each.figure}/{each.claim}` {each.verdict} ({each.kind})"
            yield f"| {claim} | {cell(told)} | {cell(each.explanation)} | {shown} |"
    yield ""
