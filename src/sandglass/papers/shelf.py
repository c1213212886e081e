"""The papers that there are: ours in pipelines/, and those of $SANDGLASS_PAPERS.

A paper is one folder; whatever has a figures.yaml is one. That file says what each figure is:
title, set-up, axes; docs/pipeline.md what else lies beside it.
"""

import functools
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, TypeVar

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from sandglass.errors import UsageError, nearest
from sandglass.experiment.document import Value
from sandglass.install import builds

PIPELINES = builds.ROOT / "pipelines"
REFERENCE = builds.ROOT / "results" / "reference"
"""What the papers' results were when they were last made for the record."""
ABOUT = "figures.yaml"
CLAIMS = "expect.yaml"
AMENDED = "amended.yaml"
RULES = "rules.smk"
SOURCES = "sources.yaml"
RUN_PARTS = ("experiments", "profiles")
"""Folders of a paper that decide which runs there are; no step after the runs reads them."""
TAKEN = ("logs", "reference", "runs")
"""Folders of results/ that are no paper's."""

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
    abstract: str = ""
    """Of the reproduction, in markdown: what holds, what does not, and why."""
    memory_mb: Annotated[int, Field(gt=0)] = 2500
    """What a run may take: the largest lab's memory, the same again for its records in tables, and
    500 MB."""
    figures: Annotated[dict[str, Figure], Field(min_length=1)]


def folders() -> dict[str, Path]:
    """Every paper's folder, by the paper's name, in the order of the names.

    Raises UsageError when $SANDGLASS_PAPERS holds no paper, or one whose name is taken or is none.
    """
    found = {path.parent.name: path.parent for path in PIPELINES.glob(f"*/{ABOUT}")}
    if chosen := os.environ.get("SANDGLASS_PAPERS"):
        for theirs in within(Path(chosen).absolute()):
            _check_name(theirs, found)
            found[theirs.name] = theirs
    return dict(sorted(found.items()))


def ours() -> list[str]:
    """The papers of this repository, in the order of their names."""
    return [name for name, home in folders().items() if home.parent == PIPELINES]


def within(directory: Path) -> list[Path]:
    """The papers of a directory, which may be a paper itself. Raises UsageError without one."""
    if (directory / ABOUT).is_file():
        return [directory]
    found = sorted(path.parent for path in directory.glob(f"*/{ABOUT}"))
    if not found:
        raise UsageError(
            f"{directory} holds no paper", f"a paper is a folder with a {ABOUT}: docs/pipeline.md"
        )
    return found


def _check_name(theirs: Path, ours: dict[str, Path]) -> None:
    name = theirs.name
    if name in ours:
        raise UsageError(f"{theirs}: there is a paper {name} in {ours[name]}", "rename one of them")
    if name in TAKEN or not name.isidentifier():
        raise UsageError(
            f"{theirs}: {name!r} cannot be a paper's name",
            f"letters, digits and _ make one, and not {', '.join(TAKEN)}",
        )


def papers() -> list[str]:
    """The names of all papers."""
    return list(folders())


def folder(paper: str) -> Path:
    """A paper's folder. Raises UsageError when there is no such paper."""
    found = folders()
    if paper not in found:
        raise UsageError(
            f"there is no paper {paper!r}{nearest(paper, found)}",
            f"There are {', '.join(found)}; a figure is named PAPER/FIGURE.",
        )
    return found[paper]


def figures(paper: str) -> Figures:
    """A paper's figures. Raises UsageError when its file is malformed."""
    return parse(folder(paper) / ABOUT, Figures)


def experiment_file(home: Path, experiment: str) -> Path:
    """An experiment of the paper whose folder `home` is."""
    return home / "experiments" / f"{experiment}.yaml"


def code(home: Path) -> list[Path]:
    """What a paper's figures are made by: all of its folder but what decides runs and claims.

    That is its modules, whichever imports which, and the data that they read.
    """
    named = {ABOUT, CLAIMS, AMENDED, RULES, SOURCES}
    return [
        path
        for path in sorted(home.rglob("*"))
        if path.is_file()
        and not _left_out(path.relative_to(home))
        and str(path.relative_to(home)) not in named
    ]


def _left_out(path: Path) -> bool:
    """Whether a file in a paper's folder is the editor's, Python's or a run's."""
    hidden = any(part.startswith((".", "__pycache__")) for part in path.parts)
    return hidden or path.parts[0] in RUN_PARTS or path.name.endswith("~")


def listing(directories: Sequence[Path]) -> Iterator[tuple[str, str]]:
    """Papers and their figures as `reproduce` takes them, each with its title.

    Those of further directories lie in papers/.
    """
    named = list(folders().items())
    for directory in directories:
        if (directory / "papers").is_dir():
            named += [(str(home), home) for home in within(directory / "papers")]
    for name, home in named:
        about = parse(home / ABOUT, Figures)
        yield name, about.title
        yield from ((f"{name}/{key}", figure.title) for key, figure in about.figures.items())


def parse(path: Path, model: type[Model]) -> Model:
    """A YAML file as `model`; UsageError names the file and the first wrong key."""
    try:
        found: Model = _parsed(path, path.read_text(), model)
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from error
    return found


@functools.lru_cache(maxsize=64)
def _parsed(path: Path, text: str, model: type[Model]) -> Model:
    """A paper's files are asked for once a figure; as long as its text is the same, so is each."""
    try:
        return model.model_validate(yaml.load(text, yaml.CSafeLoader))
    except yaml.YAMLError as error:
        raise UsageError(f"{path} is not YAML: {error}") from error
    except ValidationError as error:
        raise UsageError(f"{path}: {first_of(error)}") from error


def first_of(error: ValidationError) -> str:
    """The first wrong key, and what is wrong with it; not which kind of value it was taken for."""
    first = error.errors()[0]
    key = ".".join(str(part) for part in first["loc"] if "[" not in str(part))
    return ": ".join(filter(None, (key, first["msg"].removeprefix("Value error, "))))
