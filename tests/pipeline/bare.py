"""Bare numbers: those that a text has of its own, and neither a table nor the experiment's files.

Settings may stand in a text as they are, for they do not change with a run. What was measured is
rendered from a table (`numbers`).
"""

import functools
import json
import re
from pathlib import Path

from sandglass.papers import grid, numbers, shelf

NUMBER = re.compile(r"(?<![\w.])\d+(?:\.\d+)?")
FEW = 10
"""Up to here a whole number may stand as it is: it counts flows, packets or sentences."""
NO_NUMBERS = (
    numbers.PLACE,
    re.compile(r"`[^`]*`"),  # code
    re.compile(r"\]\([^)]*\)"),  # a link's target
    re.compile(r"\b\w*[a-z_]\d\w*"),  # names: fig07, why_2
    re.compile(  # what is cited
        r"\b(?:Figs?\.|Figures?|Sections?|Tables?|Chapters?|RFCs?|Publications?|Pub\.|eq\.|Linux"
        r"|PIE of|draft|version)\s+[\dIVX][\w.]*(?:(?:,| and| or| to)\s+[\dIVX][\w.]*)*"
    ),
    re.compile(r"\b(?:19|20)\d\d(?:-\d\d(?:-\d\d)?)?\b"),  # years and dates
)


def bare(text: str, paper: str, figures: list[str]) -> list[str]:
    """The numbers in a text that are neither rendered nor a setting of these figures or of those
    that it names."""
    named = shelf.paper(paper).figures.keys() & set(re.findall(r"\w+", text))
    known = set().union(*(settings(paper, name) for name in {*figures, *named}))
    for each in NO_NUMBERS:
        text = each.sub(" ", text)
    found = NUMBER.findall(text)
    return [each for each in found if each not in known and not _is_few(each)]


@functools.cache
def settings(paper: str, figure: str) -> frozenset[str]:
    """The numbers in what decides a figure's runs, and in what the paper says of it."""
    about = shelf.paper(paper)
    own = about.figures[figure].model_dump(mode="json")
    for sentence in own["sentences"]:
        _without_explanations(sentence)
    files = {point.source for point in grid.points(paper, figure, "paper")}
    texts = [grid.text_of(Path(each)) for each in files]
    return frozenset(re.findall(r"\d+(?:\.\d+)?", " ".join([json.dumps(own), *texts])))


def _without_explanations(said: dict[str, object]) -> None:
    said.pop("explanation", None)
    for key in ("claims", "but"):
        inner = said.get(key) or []
        for each in inner.values() if isinstance(inner, dict) else inner:  # type: ignore[attr-defined]
            _without_explanations(each)


def _is_few(number: str) -> bool:
    return number.isdigit() and int(number) <= FEW
