"""A study: an experiment, what is varied of it, how often it is repeated, what is measured."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from sandglass.experiment.document import Value
from sandglass.experiment.part import Part
from sandglass.studies.claims import Expect
from sandglass.studies.jobs import Task
from sandglass.studies.metric import Metric
from sandglass.studies.plot import Entry
from sandglass.studies.points import Setting, directories, product, text
from sandglass.studies.statistics import COLUMNS, FLOATS, Rule

FIRST = 5
FIRST_IN_A_GRID = 3
"""Replicas before an interval is looked at; fewer in a grid of more than `GRID` points."""
GRID = 20
DRAWN = ("x", "y", "colour", "panel", "base", "middle", "beside", "slot", "text", "ink")
"""Columns of what pictures are made of."""
TAKEN = frozenset([*COLUMNS, *FLOATS, *DRAWN, "metric", "against", "n", "reached"])
"""What no axis and no metric can be called, as a column is."""


class Compare(Part):
    """Against which of an axis' values the others are shown, by pairs of replicas."""

    axis: str
    against: Value


@dataclass(frozen=True)
class Study:
    """A study file, read and checked."""

    path: Path
    title: str
    experiment: Mapping[str, Any]
    """What is varied, as a file holds it."""
    source: Path
    """The file to which paths in the experiment are relative."""
    factors: Sequence[Sequence[Setting]]
    replicas: int | Rule
    metrics: Mapping[str, Metric]
    compare: Compare | None
    plots: Sequence[Entry]
    expects: Sequence[Expect]
    module: Path | None
    memory_mb: int
    """What a run may take."""
    data: Mapping[str, Any]
    """All of it as a study file, which could be run from anywhere."""

    @property
    def axes(self) -> list[str]:
        """Their names, in the order of the file."""
        return [axis for factor in self.factors for axis in factor[0].labels]

    @property
    def labels(self) -> dict[str, list[Value]]:
        """What the values of each axis are called, in the order of the file."""
        return {
            axis: list({text(each.labels[axis]): each.labels[axis] for each in factor}.values())
            for factor in self.factors
            for axis in factor[0].labels
        }

    @property
    def types(self) -> dict[str, type[pl.DataType]]:
        """Of the axes' columns in the tables: text, unless all labels of an axis are numbers."""
        found: dict[str, type[pl.DataType]] = {}
        for axis, labels in self.labels.items():
            kinds = {type(label) for label in labels}
            found[axis] = pl.String
            if kinds <= {int, float}:
                found[axis] = pl.Float64 if float in kinds else pl.Int64
        return found

    @property
    def rule(self) -> Rule | None:
        """When there are replicas enough, where their number is not given."""
        return self.replicas if isinstance(self.replicas, Rule) else None

    @property
    def first(self) -> int:
        """The number of replicas that every point has."""
        if isinstance(self.replicas, int):
            return self.replicas
        few = len(product(self.factors)) > GRID
        return min(FIRST_IN_A_GRID if few else FIRST, self.replicas.most)

    @property
    def seed(self) -> int:
        """Of each point's first replica."""
        return int(self.experiment.get("seed", 1))

    @property
    def stride(self) -> int:
        """From one replica's seed to the next one's: what the point with most repetitions takes.

        A run's repetitions have seeds that follow one another. No two replicas may share one.
        """
        once = self.experiment.get("repeat", 1)
        return max(int(point.overrides.get("repeat", once)) for point in product(self.factors))

    def runs(self, counts: Mapping[Path, int] | None = None) -> list[Task]:
        """The runs, point by point; `counts` has how many, by the points' directories.

        Replica r has the same seed at every point: common random numbers.
        """
        stride = self.stride
        found = []
        for point, home in directories(product(self.factors)).items():
            experiment, _ = point.experiment(self.experiment)
            found += [
                Task(
                    directory=str(home / str(number)),
                    source=str(self.source.absolute()),
                    experiment=experiment,
                    seed=self.seed + (number - 1) * stride,
                    labels=point.labels,
                    replica=number,
                )
                for number in range(1, (counts[home] if counts else self.first) + 1)
            ]
        return found
