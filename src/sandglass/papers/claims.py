"""The claims about a figure: its file's sentences by the paper's terms, and their former bounds.

Bounds that were changed are in amended.yaml, as they were before.
"""

import datetime
from collections.abc import Collection
from pathlib import Path
from typing import Annotated

from pydantic import Field

from sandglass.errors import UsageError, nearest
from sandglass.experiment.part import Part
from sandglass.experiment.problems import PartError
from sandglass.papers import shelf, variants
from sandglass.papers.sentences import Amendment, Claim
from sandglass.papers.shelf import Paper
from sandglass.papers.strict import parse
from sandglass.papers.variants import AT
from sandglass.studies.bounds import Outcome

UNEXPLAINED = {"explanation": "", "isolated": "", "flips": ""}
"""Of a claim in a variant."""


class Change(Part):
    """One change of a bound, for each claim that had it."""

    date: datetime.date
    was: str
    outcomes: Annotated[dict[str, Outcome], Field(min_length=1)]
    """What each of these claims was judged to be, by its id."""
    reason: str


class Amended(Part):
    """A paper's amended.yaml: the changes of each figure, the first one first."""

    figures: dict[str, Annotated[list[Change], Field(min_length=1)]]


def claims(paper: str, figure: str) -> list[Claim]:
    """The claims about a figure. Raises UsageError for a malformed file, or when there is none."""
    about = shelf.paper(paper)
    path = about.file(figure)
    try:
        found = list(about.head.claims(about.figures[figure].sentences))
    except PartError as error:
        raise about.refusal(figure, *error.problems) from error
    ids = [claim.id for claim in found]
    if twice := {name for name in ids if ids.count(name) > 1}:
        raise UsageError(f"{path}: two claims are called {', '.join(sorted(twice))}")
    if about.variant:  # what explains it was written of the paper as it is printed
        found = [each.model_copy(update=UNEXPLAINED) for each in found]
    shown = {*about.figures, *(f"{AT}{each}" for each in variants.names(about.home))}
    for claim in found:
        if claim.isolated and claim.isolated not in shown:
            raise UsageError(f"{path}: {claim.id}: isolated: no figure {claim.isolated}")
        if claim.flips and claim.flips not in (known := _named(about, claim.flips)):
            near = nearest(claim.flips, known)
            raise UsageError(f"{path}: {claim.id}: flips: no claim {claim.flips}{near}")
    before = _amendments(about.home / shelf.AMENDED, figure, ids, about.figures)
    return [claim.model_copy(update={"amended": before[claim.id]}) for claim in found]


def _named(about: Paper, claim: str) -> list[str]:
    """The claims of the figure that FIGURE/CLAIM names, likewise; none of one that there is not."""
    figure = claim.partition("/")[0]
    if figure not in about.figures:
        return []
    said = about.head.claims(about.figures[figure].sentences)
    return [f"{figure}/{each.id}" for each in said]


def _amendments(
    path: Path, figure: str, ids: Collection[str], figures: Collection[str]
) -> dict[str, list[Amendment]]:
    """The bounds that each claim of a figure had before.

    Most papers have none, and no file of them. Raises UsageError for a claim of another name, and
    for a figure that is none of the paper's.
    """
    found: dict[str, list[Amendment]] = {name: [] for name in ids}
    changed = parse(path, Amended).figures if path.exists() else {}
    for name in changed:
        if name not in figures:
            raise UsageError(f"{path}: there is no figure {name}{nearest(name, figures)}")
    for change in changed.get(figure, []):
        for name, outcome in change.outcomes.items():
            if name not in found:
                raise UsageError(f"{path}: {figure}: no claim is called {name}{nearest(name, ids)}")
            found[name].append(
                Amendment(date=change.date, was=change.was, outcome=outcome, reason=change.reason)
            )
    return found
