"""Which runs a figure is made of: pipelines/PAPER/figures.yaml and profiles/PROFILE.yaml.

figures.yaml says what each figure is (title, set-up, axes), a profile how much of it is run: for
every figure a list of grids, each the product of its axes' values. The axis `experiment` names a
file in pipelines/PAPER/experiments/; every other axis sets keys of it, as `--set` does.
"""

import itertools
import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, TypeVar

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from sandglass.errors import UsageError
from sandglass.install import builds

PIPELINES = builds.ROOT / "pipelines"
PROFILES = ("smoke", "quick", "paper")
UNCHANGED = "as-is"

Value = bool | int | float | str
Overrides = dict[str, Value]
Model = TypeVar("Model", bound=BaseModel)


class Strict(BaseModel):
    """Refuses unknown keys, so that a misspelt one is not silently without effect."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)


class Setup(Strict):
    """The settings of a figure, by where each comes from (three words, used strictly)."""

    stated: list[str] = []
    """The paper says it."""
    derived: list[str] = []
    """Follows from what is stated; each entry says from what."""
    redesign: Annotated[list[str], Field(alias="re-design")] = []
    """The paper does not publish it; ours."""


class Figure(Strict):
    """One figure of a paper. `axes` maps an axis to the key it sets, or to what each label sets."""

    title: str
    caption: str
    setup: Setup
    axes: dict[str, str | dict[str, Overrides]] = {}


class Figures(Strict):
    """A paper's figures.yaml."""

    paper: str
    """The paper's number or short reference, as verdicts name it."""
    title: str
    figures: Annotated[dict[str, Figure], Field(min_length=1)]


Values = Annotated[list[Value], Field(min_length=1)]
Profile = dict[str, Annotated[list[dict[str, Values]], Field(min_length=1)]]


class _ProfileFile(Strict):
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


def papers() -> list[str]:
    """The papers that have a pipeline."""
    return sorted(path.parent.name for path in PIPELINES.glob("*/figures.yaml"))


def figures(paper: str) -> Figures:
    """A paper's figures. Raises UsageError when the file is missing or malformed."""
    return parse(PIPELINES / paper / "figures.yaml", Figures)


def points(paper: str, figure: str, profile: str) -> list[Point]:
    """The runs of a figure, in the order of the profile's grids.

    Raises UsageError for an unknown figure or profile, an axis value without a meaning, an
    experiment without a file, and two points that are the same run.
    """
    known = figures(paper).figures
    if figure not in known:
        raise UsageError(f"{paper} has no figure '{figure}'", f"figures: {', '.join(known)}")
    path = PIPELINES / paper / "profiles" / f"{profile}.yaml"
    if not path.is_file():
        raise UsageError(f"{paper} has no profile '{profile}'", f"profiles: {', '.join(PROFILES)}")
    grids = parse(path, _ProfileFile).figures.get(figure)
    if grids is None:
        raise UsageError(f"{path}: {figure} has no grid")
    where = f"{path}: {figure}"
    found = [
        _point(dict(zip(grid, values, strict=True)), known[figure], paper, where)
        for grid in grids
        for values in itertools.product(*grid.values())
    ]
    names = Counter(str(point.directory(paper)) for point in found)
    if twice := [name for name, count in names.items() if count > 1]:
        raise UsageError(f"{where}: two points are the same run, {twice[0]}")
    return found


def parse(path: Path, model: type[Model]) -> Model:
    """A YAML file as `model`; UsageError names the file and the first wrong key."""
    try:
        return model.model_validate(yaml.safe_load(path.read_text()))
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from error
    except yaml.YAMLError as error:
        raise UsageError(f"{path} is not YAML: {error}") from error
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(str(part) for part in first["loc"])
        raise UsageError(f"{path}: {key}: {first['msg']}") from error


def _point(axes: dict[str, Value], figure: Figure, paper: str, where: str) -> Point:
    experiment = axes.pop("experiment", None)
    if not isinstance(experiment, str):
        raise UsageError(f"{where}: a grid needs the axis 'experiment', a list of file names")
    if not experiment_file(paper, experiment).is_file():
        raise UsageError(f"{where}: {experiment_file(paper, experiment)} does not exist")
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


def experiment_file(paper: str, experiment: str) -> Path:
    return PIPELINES / paper / "experiments" / f"{experiment}.yaml"


def _text(value: Value) -> str:
    """As YAML writes it, so that the command line reads back what the profile says."""
    return str(value).lower() if isinstance(value, bool) else str(value)
