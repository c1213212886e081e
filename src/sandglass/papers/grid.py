"""Which runs a figure is made of: a paper's figures.yaml and profiles/PROFILE.yaml.

figures.yaml says what a figure's axes set, a profile how much of it is run: for every figure a list
of grids, each the product of its axes' values. The axis `experiment` names a file in the paper's
experiments/; every other axis sets keys of it, as `--set` does.
"""

import itertools
import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pydantic import Field

from sandglass.errors import UsageError
from sandglass.experiment.document import Value
from sandglass.papers import shelf
from sandglass.papers.shelf import Figure, Overrides

PROFILES = ("smoke", "quick", "paper")
UNCHANGED = "as-is"
PYTHON_FILE = re.compile(r"[^\s'\"=:,\[\]{}]+\.py\b")
TIMES_FILE = re.compile(r"\b(?:trace|host)['\"]?\s*[:=]\s*['\"]?([^\s'\",\[\]{}]+)")
"""What follows the keys of an experiment that may name a file of times."""

Values = Annotated[list[Value], Field(min_length=1)]
Profile = dict[str, Annotated[list[dict[str, Values]], Field(min_length=1)]]


class _ProfileFile(shelf.Strict):
    figures: Profile


@dataclass(frozen=True)
class Point:
    """One run of a grid: the experiment file, the value on each axis, and what they set."""

    experiment: str
    axes: dict[str, Value]
    overrides: Overrides

    @property
    def name(self) -> str:
        """Names the overrides and nothing else, so figures and profiles share their runs."""
        return ",".join(f"{k}={_text(v)}" for k, v in self.overrides.items()) or UNCHANGED

    def directory(self, paper: str) -> Path:
        """Where the run lies. Snakemake hands its name to a cluster through a shell, in a list with
        commas, so that it has neither a comma nor what a shell reads as its own.
        """
        plain = re.sub(r"[^\w.=,+-]", "", self.name).replace(",", "+")
        return Path("results/runs") / paper / self.experiment / plain

    def arguments(self) -> list[str]:
        """The command line's `--set KEY=VALUE`, one after the other."""
        return [
            word
            for key, value in self.overrides.items()
            for word in ("--set", f"{key}={_text(value)}")
        ]

    def files(self, home: Path) -> list[Path]:
        """The experiment file in the paper's folder, then the files that it names by path.

        These are topologies and workloads that are not of the checkout, traces and histograms.
        """
        file = shelf.experiment_file(home, self.experiment)
        text = " ".join([file.read_text(), *self.arguments()])
        words = [*PYTHON_FILE.findall(text), *TIMES_FILE.findall(text)]
        named = {(home / "experiments" / name).resolve() for name in words}
        return [file, *sorted(path for path in named if path.is_file())]


def points(paper: str, figure: str, profile: str) -> list[Point]:
    """The runs of a figure, in the order of the profile's grids.

    Raises UsageError for an unknown figure or profile, an axis value without a meaning, an
    experiment without a file, and two points that are the same run.
    """
    known = shelf.figures(paper).figures
    if figure not in known:
        raise UsageError(f"{paper} has no figure '{figure}'", f"figures: {', '.join(known)}")
    home = shelf.folder(paper)
    path = home / "profiles" / f"{profile}.yaml"
    if not path.is_file():
        raise UsageError(f"{paper} has no profile '{profile}'", f"profiles: {', '.join(PROFILES)}")
    grids = shelf.parse(path, _ProfileFile).figures.get(figure)
    if grids is None:
        raise UsageError(f"{path}: {figure} has no grid")
    where = f"{path}: {figure}"
    found = [
        _point(dict(zip(grid, values, strict=True)), known[figure], home, where)
        for grid in grids
        for values in itertools.product(*grid.values())
    ]
    names = Counter(str(point.directory(paper)) for point in found)
    if twice := [name for name, count in names.items() if count > 1]:
        raise UsageError(f"{where}: two points are the same run, {twice[0]}")
    return found


def _point(axes: dict[str, Value], figure: Figure, home: Path, where: str) -> Point:
    experiment = axes.pop("experiment", None)
    if not isinstance(experiment, str):
        raise UsageError(f"{where}: a grid needs the axis 'experiment', a list of file names")
    file = shelf.experiment_file(home, experiment)
    if not file.is_file():
        raise UsageError(f"{where}: {file} does not exist")
    overrides: Overrides = {}
    for axis, value in axes.items():
        meaning = figure.axes.get(axis, axis)
        if isinstance(meaning, str):
            overrides[meaning] = value
        elif value in meaning:
            overrides |= meaning[str(value)]
        else:
            raise UsageError(
                f"{where}: {axis} has no value '{value}'", f"has: {', '.join(meaning)}"
            )
    return Point(experiment, axes, overrides)


def _text(value: Value) -> str:
    """As YAML writes it, so that the command line reads back what the profile says."""
    return str(value).lower() if isinstance(value, bool) else str(value)
