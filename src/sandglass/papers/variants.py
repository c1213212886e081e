"""Variants of a paper: its whole set-up otherwise in some settings, PAPER/variants/NAME.yaml.

A variant says which keys of the paper's experiments are otherwise, and where that comes from. It
holds for every figure: no sentence is tried with a change of its own. What a figure varies itself
stays as it is there. A key that the source states stays, too (stated.py), unless the variant says
what of it stays, or which other statement of the source excludes it.
"""

import fnmatch
import re
from collections.abc import Iterator, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, NamedTuple

from pydantic import Field, model_validator

from sandglass.errors import UsageError, nearest
from sandglass.experiment import document
from sandglass.experiment.document import Value
from sandglass.experiment.part import Part, refusal
from sandglass.papers import stated
from sandglass.papers.profiles import Grids, Less
from sandglass.papers.strict import parse
from sandglass.studies.jobs import content
from sandglass.studies.points import text

FOLDER = "variants"
AT = "@"
"""Between a paper and its variant: abe@ns2."""
QUANTITY = re.compile(r"(\d+(?:\.\d+)?)([a-z]*)")
SYSCTLS = ".sysctls."


class Sum(Part):
    """A value that depends on another one of the same experiment."""

    of: str
    """The key's path."""
    plus: str
    """What comes on top of it, in the same unit."""


class Change(Part):
    """A key that is otherwise, wherever an experiment has what holds it."""

    key: str
    """Its path; a `*` is any entry that is there: hosts.d*.delayed_ack."""
    to: Sum | Value
    origin: str = Field(alias="from")
    """Where in the source it stands, or the argument of ours."""
    where: dict[str, Value] = Field(default_factory=dict)
    """Only where these keys have these values."""
    was: Value | None = None
    """Only where it has had this value."""
    within: str = ""
    """What the source states of the key, where the change stays within it."""
    against: str = ""
    """What the source states of the key, where another statement of it excludes that."""

    @model_validator(mode="after")
    def _one_word(self) -> "Change":
        if self.within and self.against:
            raise ValueError("says `within` and `against`: it is one of them")
        return self

    @property
    def told(self) -> str:
        """In words: bottleneck.queue.drop_max = bottleneck.queue.drop_min + 2bdp."""
        value = f"{self.to.of} + {self.to.plus}" if isinstance(self.to, Sum) else text(self.to)
        cases = [f"{key} is {text(each)}" for key, each in self.where.items()]
        cases += [] if self.was is None else [f"it was {text(self.was)}"]
        return f"{self.key} = {value}" + (f" where {' and '.join(cases)}" if cases else "")

    def settings(self, data: Mapping[str, Any]) -> Iterator[tuple[str, Value]]:
        """What it sets of an experiment. Raises ValueError for a sum that has none."""
        if any(_at(data, key) != value for key, value in self.where.items()):
            return
        for key in _expanded(data, self.key):
            now = _at(data, key)
            if self.was is not None and now != self.was:
                continue
            if not isinstance(self.to, Sum):
                value: Value = self.to
            elif (base := _at(data, self.to.of)) is not None:
                value = added(text(base), self.to.plus)
            else:
                continue
            if now is None or text(now) != text(value):
                yield key, value


class Applied(NamedTuple):
    """A key that a change sets at a point."""

    number: int
    """Of the change, from 0."""
    key: str
    value: Value
    stated: bool
    """Whether the source states the key."""


class Sampled(Part):
    """Grids of a figure that are otherwise: a variant has ridges and crossings at other places."""

    runs: Grids | None = None
    quick: Grids | Less | None = None
    smoke: Grids | Less | None = None


class Variant(Part):
    """A paper's variants/NAME.yaml."""

    title: str
    changes: Annotated[list[Change], Field(min_length=1)]
    grids: dict[str, Sampled] = Field(default_factory=dict)
    """By figure: other values on its axes, and no other axis."""

    @property
    def within(self) -> bool:
        """Whether nothing that the source states is otherwise."""
        return not any(each.against for each in self.changes)

    @property
    def told(self) -> list[str]:
        """A line for each change, with where it comes from."""
        return [
            f"{each.told}: {each.origin}"
            + (f"; within what is stated, {each.within}" if each.within else "")
            + (f"; against what is stated, {each.against}" if each.against else "")
            for each in self.changes
        ]


def file(home: Path, name: str) -> Path:
    """Where a variant of the paper in a folder stands."""
    return home / FOLDER / f"{name}.yaml"


def names(home: Path) -> list[str]:
    """The variants of the paper in a folder."""
    return sorted(path.stem for path in (home / FOLDER).glob("*.yaml"))


def read(home: Path, name: str) -> Variant:
    """A variant of the paper in a folder. Raises UsageError where there is none, or it is wrong."""
    known = names(home)
    if name not in known:
        said = f"variants: {', '.join(known)}" if known else f"it has no folder {FOLDER}/"
        raise UsageError(f"{home.name} has no variant {name!r}{nearest(name, known)}", said)
    return parse(file(home, name), Variant)


def applied(
    variant: Variant, own: Path, source: str, overrides: Mapping[str, Value]
) -> list[Applied]:
    """What a variant, in its `own` file, sets of an experiment at a point that sets `overrides`.

    What the point sets itself stays. Raises UsageError, with the variant's line, for a key that the
    source states.
    """
    found: list[Applied] = []
    data = dict(content(source))
    for key, value in overrides.items():
        document.put(data, key, value, source)
    for number, change in enumerate(variant.changes):
        try:
            for key, value in list(change.settings(data)):
                if any(_overlap(key, each) for each in overrides):
                    continue
                place = stated.place(Path(source), document.put(data, key, value, source))
                if place and not (change.within or change.against):
                    raise ValueError(
                        f"{place} says that the source states {key}: name `within` which of its "
                        "words the change stays, or `against` which it goes, and by which others"
                    )
                found.append(Applied(number, key, value, bool(place)))
        except (ValueError, UsageError) as error:
            said = error.message if isinstance(error, UsageError) else str(error)
            raise refused(own, number, said) from error
    return found


def refused(own: Path, number: int, said: str) -> UsageError:
    """What is said of a change in a variant's file, with its line."""
    return refusal(own, document.plain(own), [(("changes", number, "key"), said)])


def added(one: str, other: str) -> str:
    """The sum of two quantities of one unit: 0.125bdp and 2bdp are 2.125bdp.

    Raises ValueError for what is no quantity, and for two units.
    """
    parts = [QUANTITY.fullmatch(each) for each in (one, other)]
    if not parts[0] or not parts[1] or parts[0][2] != parts[1][2]:
        raise ValueError(f"{one} and {other} cannot be added: write two quantities of one unit")
    amount = sum(Decimal(part[1]) for part in parts if part)
    return f"{Decimal(amount).normalize():f}{parts[0][2]}"


def _overlap(one: str, other: str) -> bool:
    """Whether two paths are the same, or one leads into the other."""
    return f"{one}.".startswith(f"{other}.") or f"{other}.".startswith(f"{one}.")


def _entries(value: Any) -> dict[str, Any]:
    if isinstance(value, list):
        return {str(n): each for n, each in enumerate(value)}
    return value if isinstance(value, dict) else {}


def _expanded(data: Mapping[str, Any], key: str) -> list[str]:
    """The paths that a path with `*` stands for; one without stands for itself."""
    outer, dot, sysctl = key.partition(SYSCTLS)
    found: list[tuple[list[str], Any]] = [([], data)]
    for part in outer.split("."):
        found = [
            ([*path, name], _entries(inner).get(name))
            for path, inner in found
            for name in (fnmatch.filter(_entries(inner), part) if "*" in part else [part])
        ]
    return [".".join(path) + dot + sysctl for path, _ in found]


def _at(data: Mapping[str, Any], key: str) -> Any:
    """The value of a key, or None."""
    outer, dot, sysctl = key.partition(SYSCTLS)
    found: Any = data
    for part in [*outer.split("."), *(["sysctls", sysctl] if dot else [])]:
        found = _entries(found).get(part)
    return found
