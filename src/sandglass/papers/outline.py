"""A paper or a figure in detail: what it shows, how much of it there is to run, what it claims."""

from collections.abc import Iterator
from typing import get_args

from sandglass.guide.detail import table
from sandglass.papers import grid, shelf, variants
from sandglass.papers.claims import claims
from sandglass.papers.profiles import PROFILES
from sandglass.papers.sentences import Sentence


def outline(name: str) -> Iterator[str]:
    """Of PAPER or PAPER/FIGURE, in lines; of PAPER@VARIANT, too."""
    paper, _, figure = name.partition("/")
    about = shelf.paper(paper)
    yield f"{about.head.paper}: {about.head.title}"
    shown = [figure] if figure else grid.made(paper)
    if figure:
        yield about.figures[figure].title
        yield ""
        yield about.figures[figure].caption.strip()
        yield ""
        setup = about.figures[figure].setup
        for origin in ("stated", "derived", "redesign"):
            for each in getattr(setup, origin):
                yield f"{origin.replace('redesign', 're-design')}: {each}"
    else:
        yield from about.otherwise.told if about.otherwise else ()
        yield ""
        yield from table(*((each, about.figures[each].title) for each in shown))
        if known := variants.names(about.home):
            yield f"variants: {', '.join(shelf.called(about.home, each) for each in known)}"
    yield ""
    yield "runs, by profile:"
    yield from table(*((profile, str(_runs(paper, shown, profile))) for profile in PROFILES))
    found = [claim for each in shown for claim in claims(paper, each)]
    for sentence in get_args(Sentence):
        own = [claim for claim in found if claim.sentence == sentence]
        if figure and own:
            yield f"{sentence}s:"
            yield from table(*((claim.id, claim.statement) for claim in own))
        elif own:
            yield f"{len(own)} {sentence}s"
    yield f"reproduce it: ./sandglass reproduce {name}"


def _runs(paper: str, figures: list[str], profile: str) -> int:
    """How many runs; those that figures share are done once."""
    found = (point for figure in figures for point in grid.points(paper, figure, profile))
    return len({point.directory for point in found})
