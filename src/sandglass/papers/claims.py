"""What a paper claims, as bounds on metrics of a figure's table: its folder's expect.yaml.

Three kinds of sentence stand there, and are counted apart: what the paper says (claim), our
implementation against a formula (check), and what is ours alone (finding). Bounds that were changed
are in amended.yaml, as they were before.
"""

import datetime
from collections.abc import Collection
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, FiniteFloat, model_validator

from sandglass.errors import UsageError, nearest
from sandglass.papers import grid, shelf
from sandglass.studies.claims import Bounds, Kind, Outcome

Sentence = Literal["claim", "check", "finding"]


class Amendment(shelf.Strict):
    """A bound as it was before it was changed."""

    date: datetime.date
    was: str
    """The old bound, in words: at most 5."""
    outcome: Outcome
    """What it was judged to be then."""
    reason: str
    """Why it was changed, from the source."""


class Change(shelf.Strict):
    """One change of a bound, for each claim that had it."""

    date: datetime.date
    was: str
    outcomes: Annotated[dict[str, Outcome], Field(min_length=1)]
    """What each of these claims was judged to be, by its id."""
    reason: str


class Amended(shelf.Strict):
    """A paper's amended.yaml: the changes of each figure, the first one first."""

    figures: dict[str, Annotated[list[Change], Field(min_length=1)]]


class Claim(shelf.Strict):
    """One sentence about one figure, and what decides whether it holds."""

    id: str
    sentence: Sentence = "claim"
    quote: str
    """The paper's own words."""
    where: str
    """The section, caption or footnote that holds them."""
    kind: Kind
    """Whether the bound is stated, derived from what is stated, or our re-design."""
    statement: str
    """What is measured, in words, and how the quote was turned into the bound."""
    metric: str
    """The name of a function among the figure's METRICS."""
    arguments: dict[str, Any] = Field(default_factory=dict)
    bounds: Bounds | None = None
    plotted: FiniteFloat | None = None
    """Instead of bounds: what the paper has of one run, which must be like one of ours."""
    unit: str = ""
    replicas: Literal["whole", "all"] = "whole"
    """All are also those that have only some of the figure's points, run more often than others:
    for a metric that measures each point by itself."""
    profiles: list[str] = Field(default_factory=lambda: list(grid.PROFILES))
    """The profiles whose runs are long and many enough to judge it."""
    amended: list[Amendment] = Field(default_factory=list)
    """The bounds that it had before, the first one first."""
    explanation: str = ""
    """Markdown; why it fails, when it does, or what it would take to decide it."""
    isolated: str = ""
    """The figure of this paper that shows the cause, when it fails."""

    @model_validator(mode="after")
    def _one_measure(self) -> "Claim":
        if (self.bounds is None) == (self.plotted is None):
            raise ValueError("needs bounds, or the plotted value of one run, and not both")
        return self

    @property
    def expected(self) -> str:
        """What is measured, in words, and what has to be so."""
        unit = self.unit and f" {self.unit}"
        if self.bounds:
            return f"{self.statement}: {self.bounds}{unit}"
        return f"{self.statement}: {self.plotted:g}{unit} in one run, as 95 % of ours are"


class Expectations(shelf.Strict):
    """A paper's expect.yaml."""

    figures: dict[str, Annotated[list[Claim], Field(min_length=1)]]


def claims(paper: str, figure: str) -> list[Claim]:
    """The claims about a figure. Raises UsageError for a malformed file, or when there is none."""
    path = shelf.folder(paper) / shelf.CLAIMS
    found = shelf.parse(path, Expectations).figures.get(figure, [])
    if not found:
        raise UsageError(f"{path}: {figure} has no claim", "every figure carries its verdict")
    ids = [claim.id for claim in found]
    if twice := {name for name in ids if ids.count(name) > 1}:
        raise UsageError(f"{path}: {figure} has two claims called {', '.join(sorted(twice))}")
    known = shelf.figures(paper).figures
    for claim in found:
        if claim.isolated and claim.isolated not in known:
            raise UsageError(f"{path}: {figure}: {claim.id}: isolated: no figure {claim.isolated}")
    before = _amendments(path.with_name(shelf.AMENDED), figure, ids, known)
    return [claim.model_copy(update={"amended": before[claim.id]}) for claim in found]


def _amendments(
    path: Path, figure: str, ids: Collection[str], figures: Collection[str]
) -> dict[str, list[Amendment]]:
    """The bounds that each claim of a figure had before.

    Most papers have none, and no file of them. Raises UsageError for a claim of another name, and
    for a figure that is none of the paper's.
    """
    found: dict[str, list[Amendment]] = {name: [] for name in ids}
    changed = shelf.parse(path, Amended).figures if path.exists() else {}
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
