"""Profiles: how much of a figure is run. Smoke is a few runs, quick a look, paper the record."""

from collections.abc import Sequence
from typing import Annotated

from pydantic import Field

from sandglass.experiment.document import Value
from sandglass.studies.points import MOST

PROFILES = ("smoke", "quick", "paper")

Values = Annotated[list[Value], Field(min_length=1)]
Replicas = Annotated[int, Field(ge=1, le=MOST)]
Grid = dict[str, Values | Replicas]
"""The product of its axes' values, and how many `replicas` each of its points has."""
Grids = Annotated[list[Grid], Field(min_length=1)]
Less = dict[str, Values | Replicas | None]
"""What a smaller profile has of a larger one's grids: only these values of an axis, so many
replicas, no axis where it is null; an axis that no grid has is added."""
REPLICAS = "replicas"
"""How many times each point of a grid is run."""


def part(grids: Sequence[Grid], of: Less) -> list[Grid]:
    """What is left of grids. Raises ValueError where nothing is, or for a value that none has."""
    for axis, values in of.items():
        there = [value for grid in grids for value in _values(grid, axis)]
        for value in values if isinstance(values, list) and there else []:
            if value not in there:
                raise ValueError(f"{axis}: {value} is not among {', '.join(map(str, there))}")
        if values is None and not any(axis in grid for grid in grids):
            raise ValueError(f"{axis}: there is no such axis to be left out")
    known = {axis for grid in grids for axis in grid}
    added = {
        axis: values for axis, values in of.items() if axis not in known and values is not None
    }
    found: list[Grid] = []
    for grid in grids:
        left: Grid = {}
        for axis, values in grid.items():
            only = of.get(axis, values)
            if isinstance(only, int):
                left[axis] = only
            elif only is not None:
                left[axis] = [value for value in _values(grid, axis) if value in only]
        if [] not in left.values():
            found.append(left | added)
    if not found:
        raise ValueError("nothing is left: no grid has all of these values")
    return found


def _values(grid: Grid, axis: str) -> list[Value]:
    values = grid.get(axis, [])
    return values if isinstance(values, list) else []
