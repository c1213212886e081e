"""What a study expects, and what its runs say of it: a claim holds, fails, or is open.

A bound is compared with the whole 95 % interval. One run has none: there its value decides.
"""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Literal

import polars as pl
from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    ValidationError,
    model_validator,
)

from sandglass.errors import SandglassError, nearest
from sandglass.experiment.document import Value
from sandglass.experiment.part import Part
from sandglass.experiment.problems import PartError, Problem, explain
from sandglass.studies import quantity, statistics
from sandglass.studies.bounds import Bounds, Kind, Outcome
from sandglass.studies.points import text
from sandglass.studies.statistics import Interval, matching, named, points
from sandglass.studies.verdict import Verdict

Bound = Literal[Kind, "own"]
"""Of a study's claim, which needs no source: its author's own."""
Labels = dict[str, Value]


def _bounds(value: object) -> Bounds:
    try:
        return Bounds.model_validate(value)
    except ValidationError as error:
        raise PartError(explain(error, Bounds)) from None


def _pair(value: dict[str, list[Value]]) -> dict[str, list[Value]]:
    if len(value) != 1 or any(len(labels) != 2 for labels in value.values()):
        raise ValueError("is not two labels of one axis: write {queue: [PIE, CoDel]}")
    for labels in value.values():
        if text(labels[0]) == text(labels[1]):
            raise ValueError(f"compares {text(labels[0])} with itself: name two labels")
    return value


Pair = Annotated[dict[str, list[Value]], AfterValidator(_pair)]


class Expect(Part):
    """An entry of `expect`: of a metric, or of how it differs or moves, at all points of `at`."""

    claim: str = Field(examples=["CoDel keeps the queue short"])
    """In words."""
    metric: str = Field(examples=["delay"])
    at: Labels = Field(default_factory=dict)
    """Values of axes; the claim is about every point that has them."""
    difference: Pair | None = None
    """The first label's less the second's, by pairs of replicas."""
    ratio: Pair | None = None
    """The first label's over the second's, likewise, on logarithms."""
    rises: str | None = None
    """An axis along which the metric rises at every step."""
    falls: str | None = None
    """An axis along which it falls."""
    bounds: Annotated[Bounds, BeforeValidator(_bounds)] | None = None
    unit: str = ""
    quote: str = ""
    """The words of a source."""
    where: str = ""
    """Which source, and where in it."""
    kind: Bound = "own"
    """Whether the bound is stated there, derived from what is, chosen where it says nothing, or of
    nobody but the study."""
    explanation: str = ""
    """Why it fails, when it does."""

    @model_validator(mode="after")
    def _one_sentence(self) -> "Expect":
        given = [
            key
            for key in ("difference", "ratio", "rises", "falls")
            if getattr(self, key) is not None
        ]
        if len(given) > 1:
            raise ValueError(f"{' and '.join(given)} stand together: make two claims of them")
        moves = bool({"rises", "falls"}.intersection(given))
        if moves and self.bounds:
            raise ValueError(f"{given[0]} needs no bounds: every step has to")
        if not moves and not self.bounds:
            raise ValueError("has no bounds: give some, such as {at_most: 20}")
        return self

    @property
    def compared(self) -> tuple[str, Value, Value] | None:
        """The axis and the two labels of a difference or a ratio."""
        pair = self.difference or self.ratio
        if not pair:
            return None
        ((axis, (new, old)),) = pair.items()
        return axis, new, old

    @property
    def expected(self) -> str:
        """What has to be so, in words: delay (PIE over CoDel) at rtt 20ms: at most 2."""
        at = f" at {named(self.at)}" if self.at else ""
        if axis := self.rises or self.falls:
            return f"{self.metric}{at} {'rises' if self.rises else 'falls'} with {axis}"
        of = self.metric
        if self.compared:
            _, new, old = self.compared
            how = "over" if self.ratio else "less"
            of = f"{self.metric} ({text(new)} {how} {text(old)})"
        return f"{of}{at}: {self.bounds}{self.unit and ' ' + self.unit}"

    def wrong(
        self, axes: Mapping[str, Sequence[Value]], metrics: Sequence[str] | None
    ) -> Iterator[Problem]:
        """What it names that a study does not have; metrics are None where a module has some."""
        if metrics is not None and self.metric not in metrics:
            yield ("metric",), unknown("metric", self.metric, metrics)
        for axis, label in self.at.items():
            yield from ((("at", axis), text) for text in _unlabelled(axis, [label], axes))
        for key in ("difference", "ratio"):
            for axis, labels in (getattr(self, key) or {}).items():
                yield from (((key, axis), text) for text in _unlabelled(axis, labels, axes))
                if axis in self.at:
                    yield ("at", axis), f"is compared by {key}, too: leave one out"
        for key in ("rises", "falls"):
            axis = getattr(self, key)
            if axis is not None and axis not in axes:
                yield (key,), unknown("axis", axis, axes)
            elif axis in self.at:
                yield ("at", axis), f"is the axis of {key}, too: leave it out"


class Judged(Verdict):
    """A claim of a study with what the runs say: a row of claims.csv.

    Of several points it is the worst: one that fails, else one that is open, else the nearest to
    its bound.
    """

    place: str
    """The point that decides."""
    points: int
    """So many were looked at."""

    @property
    def found(self) -> str:
        """What was measured, at which of several points, and what should be."""
        place = f" at {self.place}" if self.points > 1 else ""
        return f"{self.result}{place}; expected {self.expected}"


def judge(runs: pl.DataFrame, axes: Sequence[str], expects: Sequence[Expect]) -> list[Judged]:
    """What the runs say of each claim.

    Raises SandglassError where there is no point, or no number, to judge it by.
    """
    return [_judged(expect, runs, axes) for expect in expects]


def unknown(noun: str, name: str, known: Sequence[str] | Mapping[str, object]) -> str:
    """What is said of a name that a study does not have."""
    return f"there is no {noun} {name!r}{nearest(name, known)} There are {', '.join(known)}"


def _unlabelled(
    axis: str, labels: Sequence[Value], axes: Mapping[str, Sequence[Value]]
) -> Iterator[str]:
    if axis not in axes:
        yield unknown("axis", axis, axes)
        return
    known = [text(label) for label in axes[axis]]
    for label in labels:
        if text(label) not in known:
            yield unknown(f"{axis}", text(label), known)


def _judged(expect: Expect, runs: pl.DataFrame, axes: Sequence[str]) -> Judged:
    bounds = expect.bounds or (Bounds(above=0) if expect.rises else Bounds(below=0))
    found = []
    for place, n, measured in _measured(expect, runs, axes):
        ends = [measured.mean if end is None else end for end in measured[1:]]
        found.append((bounds.judge(measured), bounds.slack(*ends), place, n, measured))
    if not found:
        raise SandglassError(f"claim {expect.claim!r}: there is no point to judge it by")
    order: list[Outcome] = ["fails", "open", "holds"]
    outcome, _, place, n, measured = min(found, key=lambda each: (order.index(each[0]), each[1]))
    return Judged(
        claim=expect.claim,
        kind=expect.kind,
        quote=expect.quote,
        where=expect.where,
        expected=expect.expected,
        place=place,
        points=len(found),
        n=n,
        measured=measured.mean,
        low=measured.low,
        high=measured.high,
        verdict=outcome,
        explanation=expect.explanation if outcome == "fails" else "",
    )


def _measured(
    expect: Expect, runs: pl.DataFrame, axes: Sequence[str]
) -> Iterator[tuple[str, int, Interval]]:
    """Each point's name, number of replicas, and what the claim is about there."""
    chosen = runs.filter(matching(runs, expect.at))
    if not (expect.compared or expect.rises or expect.falls):
        for place, own in points(chosen, axes):
            values = statistics.numbers(own, expect.metric, place)
            values = values[:1] if statistics.copies(own) else values
            yield named(place), values.size, statistics.interval(values)
        return
    axis = expect.compared[0] if expect.compared else str(expect.rises or expect.falls)
    for place, own in points(chosen, [name for name in axes if name != axis]):
        for new, old in _steps(expect, own, axis):
            sides = [own.filter(matching(own, {axis: label})) for label in (new, old)]
            if sides[0].is_empty() or sides[1].is_empty():
                continue
            both = statistics.pairs(sides[0], sides[1], expect.metric, place)
            said = f"{axis} {text(old)} to {text(new)}" if not expect.compared else ""
            name = ", ".join(filter(None, [named(place) if place else "", said])) or named(place)
            if expect.ratio and min(both[0].min(), both[1].min()) <= 0:
                raise SandglassError(
                    f"claim {expect.claim!r}: {expect.metric} of {name} is not above 0 everywhere",
                    "a ratio is of what is: claim a difference",
                )
            make = statistics.ratio if expect.ratio else statistics.difference
            yield name, both[0].size, make(*both)


def _steps(expect: Expect, own: pl.DataFrame, axis: str) -> list[tuple[Value, Value]]:
    """The pairs of labels whose metrics are compared, the new one first."""
    if expect.compared:
        return [expect.compared[1:]]
    labels = quantity.ordered(own[axis].unique(maintain_order=True).to_list())
    return [(new, old) for old, new in itertools.pairwise(labels)]
