"""Which runs a figure is made of: the grids of a profile in its file.

Each grid is the product of its axes' values. The axis `experiment` names a file in the paper's
experiments/; every other axis sets keys of it, as `--set` does. `replicas` says how often each
point is run: the seeds are the experiment's and those after it, the same at every point of it. A
grid may have more of them than another of the figure, for what takes more to decide.
"""

import functools
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from sandglass.errors import UsageError
from sandglass.experiment import document
from sandglass.experiment.document import Value
from sandglass.papers import shelf
from sandglass.papers.profiles import PROFILES, REPLICAS, Grid
from sandglass.papers.shelf import Figure, Overrides
from sandglass.studies.points import UNCHANGED, Setting, cut, plain, product, text
from sandglass.studies.points import Point as GridPoint

EXPERIMENT = "experiment"
"""The axis that names a file."""
PYTHON_FILE = re.compile(r"[^\s'\"=:,\[\]{}]+\.py\b")
TIMES_FILE = re.compile(r"\b(?:trace|host)['\"]?\s*[:=]\s*['\"]?([^\s'\",\[\]{}]+)")
"""What follows the keys of an experiment that may name a file of times."""

LONGEST = 200
"""Bytes of a run's name. A file's has 255, of which a hash takes some, and what is half written."""


@dataclass(frozen=True)
class Point:
    """One run of a grid: the experiment file, the value on each axis, and what they set."""

    experiment: str
    axes: dict[str, Value]
    overrides: Overrides
    replica: int | None = None
    """Its number, from 1, where the grid has replicas."""

    @functools.cached_property
    def name(self) -> str:
        """Names the overrides and nothing else, so figures and profiles share their runs."""
        return ",".join(self.settings) or UNCHANGED

    @property
    def key(self) -> tuple[str, str]:
        """Which run of a paper it is: the experiment, and the name of its directory."""
        return self.experiment, self.plain_name

    @functools.cached_property
    def plain_name(self) -> str:
        """The name without what a shell or Snakemake reads as its own.

        One that is too long for a file system ends in a hash of what it sets.
        """
        name = plain(self.name.replace(",", "+"))
        return cut(name, LONGEST, self.name) if len(name.encode()) > LONGEST else name

    def directory(self, paper: str) -> Path:
        """Where the run lies."""
        return Path("results/runs", paper, *self.key)

    @functools.cached_property
    def settings(self) -> list[str]:
        """What it sets, as the command line's `--set` has it: KEY=VALUE."""
        return [f"{key}={text(value)}" for key, value in self.overrides.items()]

    def files(self, home: Path) -> list[Path]:
        """The experiment file in the paper's folder, its bases, then the files they name by path.

        These are topologies and workloads that are not of the checkout, traces and histograms.
        """
        file = shelf.experiment_file(home, self.experiment)
        words = {*words_of(file), *_words(" ".join(self.settings))}
        named = {(home / "experiments" / name).resolve() for name in words}
        return [file, *bases(file), *sorted(path for path in named if path.is_file())]


def points(paper: str, figure: str, profile: str) -> list[Point]:
    """The runs of a figure, in the order of the profile's grids.

    Raises UsageError for an unknown figure or profile, an axis value without a meaning, an
    experiment without a file, and two points that are the same run.
    """
    about = shelf.paper(paper)
    if figure not in about.figures:
        raise UsageError(
            f"{paper} has no figure '{figure}'", f"figures: {', '.join(about.figures)}"
        )
    if profile not in PROFILES:
        raise UsageError(f"there is no profile '{profile}'", f"profiles: {', '.join(PROFILES)}")
    own = about.figures[figure]
    try:
        return _points(own, own.grids(profile), about.home)
    except ValueError as error:
        key = "runs" if profile == "paper" else profile
        raise about.refusal(figure, ((key,), str(error))) from error


def _points(figure: Figure, grids: Sequence[Grid], home: Path) -> list[Point]:
    """The runs of a figure's grids. Raises ValueError, which says what is wrong with one."""
    if len({REPLICAS in grid for grid in grids}) > 1:
        raise ValueError(f"either all grids of a figure have {REPLICAS}, or none")
    found = [
        run
        for grid in grids
        for point in product(_factors(grid, figure, home))
        for run in _replicas(point, grid.get(REPLICAS), home)
    ]
    counts = Counter(point.key for point in found)
    if twice := [point for point in found if counts[point.key] > 1]:
        raise ValueError(f"two points are the same run, {twice[0].directory(home.name)}")
    return found


def _replicas(found: GridPoint, number: object, home: Path) -> list[Point]:
    """The runs of a point. Raises ValueError where its grid has both replicas and seeds."""
    axes = found.labels
    experiment = str(axes.pop(EXPERIMENT))
    once = Point(experiment, axes, found.overrides)
    if not isinstance(number, int):
        return [once]
    if "seed" in found.overrides:
        raise ValueError(f"a grid has either {REPLICAS} or the axis 'seed'")
    own = content(shelf.experiment_file(home, experiment))
    first, stride = (int(found.overrides.get(key, own.get(key, 1))) for key in ("seed", "repeat"))
    return [
        replace(
            once,
            overrides=found.overrides | ({"seed": first + (r - 1) * stride} if r > 1 else {}),
            replica=r,
        )
        for r in range(1, number + 1)
    ]


@functools.cache
def content(file: Path) -> Mapping[str, Any]:
    """What stands in an experiment's file."""
    return document.read(file).data


@functools.cache
def bases(file: Path) -> tuple[Path, ...]:
    """The files that an experiment's file is made of besides."""
    return document.read(file).bases


@functools.cache
def text_of(file: Path) -> str:
    """An experiment's file as it stands, and its bases; a paper runs each some hundred times."""
    return "\n".join(path.read_text() for path in (file, *bases(file)))


@functools.cache
def words_of(file: Path) -> frozenset[str]:
    """What an experiment's file says that may be a path of another."""
    return _words(text_of(file))


def _words(text: str) -> frozenset[str]:
    return frozenset([*PYTHON_FILE.findall(text), *TIMES_FILE.findall(text)])


def _factors(grid: Grid, figure: Figure, home: Path) -> list[list[Setting]]:
    """What each axis of a grid sets. Raises ValueError where a value means nothing."""
    if EXPERIMENT not in grid:
        raise ValueError(f"a grid needs the axis '{EXPERIMENT}', a list of file names")
    for axis, values in grid.items():
        if isinstance(values, int) != (axis == REPLICAS):
            kind = "a whole number" if axis == REPLICAS else "a list of values"
            raise ValueError(f"{axis}: {values} is not {kind}")
    return [
        [Setting({axis: value}, _set(axis, value, figure, home)) for value in values]  # type: ignore[union-attr]
        for axis, values in grid.items()
        if axis != REPLICAS
    ]


def _set(axis: str, value: Value, figure: Figure, home: Path) -> Overrides:
    """The keys that a value of an axis sets."""
    if axis == EXPERIMENT:
        file = shelf.experiment_file(home, str(value))
        if not file.is_file():
            raise ValueError(f"{file} does not exist")
        return {}
    meaning = figure.axes.get(axis, axis)
    if isinstance(meaning, str):
        return {meaning: value}
    if value not in meaning:
        raise ValueError(f"{axis} has no value '{value}', it has {', '.join(meaning)}")
    return meaning[str(value)]
