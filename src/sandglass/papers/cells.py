"""The cells of a claim: each combination of the values that it is for.

A value has a name, which ids have, and a word, which statements have: {queue} is codel in an id and
CoDel in a statement. The message of each ValueError begins with the key that is wrong.
"""

import itertools
import re
from collections.abc import Mapping
from typing import Annotated, Any, NamedTuple, TypeVar

from pydantic import Field

from sandglass.errors import nearest
from sandglass.experiment.document import Value
from sandglass.studies import points

Axis = Annotated[list[Any] | dict[Value, Any], Field(min_length=1)]
"""The values of an argument, or these by the names that ids have."""
Words = list[Value]
Entry = TypeVar("Entry")


class Cell(NamedTuple):
    """One combination of values, and what a {key} is in its id and in its statement."""

    arguments: dict[str, Any]
    names: dict[str, str]
    words: dict[str, Value]


def product(axes: Mapping[str, Axis], words: Mapping[str, Words]) -> list[Cell]:
    """The cells, those of the first axis slowest; without an axis there is one.

    The words of an axis are one for each of its values; others are one for each cell.
    """
    values = [list(axis.values()) if isinstance(axis, dict) else axis for axis in axes.values()]
    names = [[name(each) for each in axis] for axis in axes.values()]
    own = [
        one_for_each(words.get(key, of), len(of), "value", f"words: {key}")
        for key, of in zip(axes, values, strict=True)
    ]
    combinations = [itertools.product(*lists) for lists in (values, names, own)]
    cells = [
        Cell(*(dict(zip(axes, each, strict=True)) for each in parts))
        for parts in zip(*combinations, strict=True)
    ]
    for key in words.keys() - axes.keys():
        further = one_for_each(words[key], len(cells), "cell", f"words: {key}")
        for cell, word in zip(cells, further, strict=True):
            cell.words[key] = word
    return cells


def name(value: Value) -> str:
    """A value in an id, in lower case with hyphens: FQ-CoDel is fq-codel, and 0.7 is 0.7."""
    return re.sub(r"[^a-z0-9.]+", "-", points.text(value).lower()).strip("-")


def one_for_each(entries: list[Entry], number: int, what: str, key: str) -> list[Entry]:
    """Some entries. Raises ValueError when they are not that many."""
    if len(entries) != number:
        raise ValueError(f"{key}: has {len(entries)} entries, not one for each of {number} {what}s")
    return entries


def filled(text: str, words: Mapping[str, Value], key: str) -> str:
    """A text with a word for each {name} in it. Raises ValueError for one that has none."""

    def word(found: re.Match[str]) -> str:
        if found[1] not in words:
            raise ValueError(f"{key}: nothing is called {found[0]}{nearest(found[1], words)}")
        return points.text(words[found[1]])

    return re.sub(r"\{(.*?)\}", word, text)
