"""Sentences of a paper, each with its claims under it: bounds on metrics of a figure's table.

Three kinds of sentence are counted apart: what the paper says (claim), our implementation against a
formula (check), and what is ours alone (finding).
"""

import datetime
from collections.abc import Iterable, Iterator
from decimal import Decimal
from typing import Annotated, Any, Literal

from pydantic import Field, FiniteFloat, PositiveFloat, ValidationError, model_validator

from sandglass.errors import nearest
from sandglass.experiment.part import Part
from sandglass.experiment.problems import PartError, explain, where
from sandglass.papers import cells
from sandglass.papers.profiles import PROFILES
from sandglass.studies.bounds import Bounds, Kind, Outcome

Sentence = Literal["claim", "check", "finding"]


class Amendment(Part):
    """A bound as it was before it was changed."""

    date: datetime.date
    was: str
    """The old bound, in words: at most 5."""
    outcome: Outcome
    """What it was judged to be then."""
    reason: str
    """Why it was changed, from the source."""


class Common(Part):
    """What claims have, and what may also be said once for all claims of a sentence."""

    sentence: Sentence = "claim"
    arguments: dict[str, Any] = Field(default_factory=dict)
    unit: str = ""
    replicas: Literal["whole", "all"] = "whole"
    """All are also those that have only some of the figure's points, run more often than others:
    for a metric that measures each point by itself."""
    profiles: list[str] = Field(default_factory=lambda: list(PROFILES))
    """The profiles whose runs are long and many enough to judge it."""
    explanation: str = ""
    """Markdown; why it fails, when it does, or what it would take to decide it."""
    isolated: str = ""
    """The figure of this paper that shows the cause, when it fails, or its variant: @NAME."""
    flips: str = ""
    """FIGURE/CLAIM of this paper that measures the same with the cause restored: what it finds is
    judged by this claim's bounds."""
    turns_at: FiniteFloat | None = None
    """Where the measure would say the opposite of the sentence; else as `Claim.turn` has it."""
    needs: Literal["most", "all"] = "most"
    """How many of a sentence's numbers have to agree: all where the source says all, never, always
    or at most. A sentence needs all as soon as one of its claims says so."""


class Claim(Common):
    """What is claimed of one figure, and what decides whether it holds."""

    id: str
    quote: str
    """The paper's own words."""
    where: str
    """The section, caption or footnote that holds them."""
    kind: Kind
    """Whether the bound is stated, derived from what is stated, or our re-design."""
    statement: str
    """What is measured, in words, and how the quote was turned into the bound."""
    metric: str
    """The name of one of the figure's `metrics`, or of a function among its code's METRICS."""
    bounds: Bounds | None = None
    plotted: FiniteFloat | None = None
    """Instead of bounds: what the paper has of one run, which must be like one of ours."""
    printed: FiniteFloat | None = None
    """The paper's number, from which the bounds follow."""
    amended: list[Amendment] = Field(default_factory=list)
    """The bounds that it had before, the first one first."""

    @model_validator(mode="after")
    def _one_measure(self) -> "Claim":
        if (self.bounds is None) == (self.plotted is None):
            raise ValueError("needs bounds, or the plotted value of one run, and not both")
        return self

    @property
    def number(self) -> float | None:
        """What the paper prints of it, if it prints a number."""
        return self.printed if self.plotted is None else self.plotted

    @property
    def turn(self) -> float | None:
        """Where the measure would say the opposite; None where there is no such place.

        That is 0 where the source prints a number, which must have the right sign at least, and
        where it says that something is more or less than nothing; 1 where it says so of a ratio.
        """
        if self.turns_at is not None:
            return self.turns_at
        if self.number:
            return 0.0
        ends = self.bounds.model_dump(exclude_none=True) if self.bounds else {}
        end = ends.get("above", ends.get("below")) if len(ends) == 1 else None
        return end if end == 0 or (end == 1 and not self.unit) else None

    @property
    def direction(self) -> Bounds | None:
        """On which side of its turn the measure has to be; None where both sides are within."""
        turn = self.turn
        if turn is None:
            return None
        sides = Bounds(above=turn), Bounds(below=turn)
        if self.number is not None:
            return next((side for side in sides if side.hold(self.number)), None)
        assert self.bounds
        low, high = self.bounds.range
        if low >= turn:
            return sides[0]
        return sides[1] if high <= turn else None

    @property
    def is_direction(self) -> bool:
        """Whether it says on which side of its turn the measure is, and no more."""
        return self.plotted is None and self.bounds is not None and self.bounds == self.direction

    @property
    def expected(self) -> str:
        """What is measured, in words, and what has to be so."""
        unit = self.unit and f" {self.unit}"
        if self.bounds:
            return f"{self.statement}: {self.bounds}{unit}"
        return f"{self.statement}: {self.plotted:g}{unit} in one run, as 95 % of ours are"


Number = int | float
MEASURES = {"bounds", "plotted", "agrees"}
"""What decides: one of them said of a claim is in place of what is said above it."""
LISTS = {"quote", "where", *MEASURES}
"""What may be a list, with an entry for each cell."""


class Said(Common):
    """What a part of the file says of its claims."""

    quote: str | list[str] = ""
    where: str | list[str] = ""
    kind: Kind | None = None
    statement: str = ""
    metric: str = ""
    bounds: Bounds | list[Bounds] | None = None
    plotted: Number | list[Number] | None = None
    agrees: Number | list[Number] = 0
    """Instead of bounds: the paper's number, from which they follow by the file's agreement."""

    def of(self, cell: int, number: int) -> dict[str, Any]:
        """What it says of one of its cells. Raises ValueError for a list of another length."""
        said = {key: getattr(self, key) for key in self.model_fields_set & Said.model_fields.keys()}
        for key in said.keys() & LISTS:
            if isinstance(said[key], list):
                said[key] = cells.one_for_each(said[key], number, "cell", key)[cell]
        return said


class Entry(Said):
    """A claim under a sentence, or a claim for each cell."""

    id: str
    axes: dict[str, cells.Axis] = Field(default_factory=dict, alias="for")
    words: dict[str, cells.Words] = Field(default_factory=dict)
    """What the statement has in place of an axis's values, or a word of its own for each cell."""
    but: dict[str, Said] = Field(default_factory=dict)
    """What is otherwise in some cells, by the ids of their claims."""


class Quoted(Said):
    """A sentence of the paper: what its claims share, and its claims, all of them for each cell."""

    axes: dict[str, cells.Axis] = Field(default_factory=dict, alias="for")
    claims: Annotated[list[Entry], Field(min_length=1)]


class Agreement(Part):
    """How far a number of ours may be from the paper's where a claim says `agrees`."""

    percent: PositiveFloat
    least: dict[str, PositiveFloat] = Field(default_factory=dict)
    """By unit: how far it may be in any case."""

    def bounds(self, number: Number, unit: str) -> Bounds:
        """Those of a number, in decimals. Never across zero: what is said to grow must grow."""
        center = Decimal(str(number))
        share = abs(center) * Decimal(str(self.percent)) / 100
        width = max(share, Decimal(str(self.least.get(unit, 0))))
        low, high = float(center - width), float(center + width)
        if number > 0 >= low:
            return Bounds(above=0, at_most=high)
        if number < 0 <= high:
            return Bounds(at_least=low, below=0)
        return Bounds(at_least=low, at_most=high)


class Terms(Part):
    """What a paper says of all its claims."""

    profiles: list[str] = Field(default_factory=lambda: list(PROFILES))
    """Those that judge a claim which does not name any."""
    agreement: Agreement | None = None

    def claims(self, sentences: Iterable[Quoted]) -> Iterator[Claim]:
        """The claims under sentences. Raises PartError, which names the claim and the key."""
        for number, sentence in enumerate(sentences):
            whole = len(cells.product(sentence.axes, {}))
            found = []
            for own, entry in enumerate(sentence.claims):
                try:
                    found.append(list(self._expanded(sentence, entry, whole)))
                except ValueError as error:
                    at = ("sentences", number, "claims", own)
                    raise PartError([(at, f"{entry.id}: {error}")]) from error
            for cell in range(whole):
                for claims in found:
                    each = len(claims) // whole
                    yield from claims[cell * each : (cell + 1) * each]

    def _expanded(self, sentence: Quoted, entry: Entry, whole: int) -> Iterator[Claim]:
        """What an entry stands for, of a sentence with so many cells."""
        for key in sentence.axes.keys() & entry.axes.keys():
            raise ValueError(f"for: its sentence is for each {key} already")
        for key in entry.words:
            if f"{{{key}}}" not in (entry.statement or sentence.statement):
                raise ValueError(f"words: the statement has no {{{key}}}")
        found = cells.product(sentence.axes | entry.axes, entry.words)
        ids = [cells.filled(entry.id, cell.names, "id") for cell in found]
        for name in entry.but.keys() - set(ids):
            raise ValueError(f"but: no claim is called {name}{nearest(name, ids)}")
        for number, (name, cell) in enumerate(zip(ids, found, strict=True)):
            parts = [
                sentence.of(number * whole // len(found), whole),
                entry.of(number, len(found)),
                {"arguments": cell.arguments},
            ]
            if name in entry.but:
                parts.append(entry.but[name].of(0, 1))
            yield self._claim(name, parts, cell.words)

    def _claim(self, name: str, parts: list[dict[str, Any]], words: dict[str, Any]) -> Claim:
        """What parts of the file say together; the last one that says a thing decides."""
        said: dict[str, Any] = {"profiles": self.profiles, "arguments": {}}
        for part in parts:
            if part.keys() & MEASURES:
                said = {key: value for key, value in said.items() if key not in MEASURES}
            said |= part | {"arguments": said["arguments"] | part.get("arguments", {})}
        if "agrees" in said:
            if not self.agreement:
                raise ValueError("agrees: the paper has no agreement, which says how far it may be")
            words = words | {"agrees": said.pop("agrees")}
            said["printed"] = words["agrees"]
            said["bounds"] = self.agreement.bounds(words["agrees"], said.get("unit", ""))
        if "statement" in said:
            said["statement"] = cells.filled(said["statement"], words, "statement")
        try:
            return Claim(id=name, **said)
        except ValidationError as error:
            at, wrong = explain(error, Claim)[0]
            raise ValueError(f"{where(at)}: {wrong}" if at else wrong) from error
