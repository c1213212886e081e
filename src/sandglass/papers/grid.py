"""Which runs a figure is made of: the grids of a profile in its file.

Each grid is the product of its axes' values. The axis `experiment` names a file in the paper's
experiments/; every other axis sets keys of it, as `--set` does. `replicas` says how often each
point is run: the seeds are the experiment's and those after it, the same at every point of it. A
grid may have more of them than another of the figure, for what takes more to decide.
"""

import functools
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from sandglass.errors import UsageError
from sandglass.experiment import document
from sandglass.experiment.document import Value
from sandglass.papers import shelf, variants
from sandglass.papers.profiles import PROFILES, REPLICAS, Grid
from sandglass.papers.shelf import Figure, Overrides, Paper
from sandglass.papers.variants import Applied
from sandglass.studies.jobs import Task, content
from sandglass.studies.points import UNCHANGED, Point, Setting, cut, plain, product, text

EXPERIMENT = "experiment"
"""The axis that names a file."""
PYTHON_FILE = re.compile(r"[^\s'\"=:,\[\]{}]+\.py\b")
TIMES_FILE = re.compile(r"\b(?:trace|host)['\"]?\s*[:=]\s*['\"]?([^\s'\",\[\]{}]+)")
"""What follows the keys of an experiment that may name a file of times."""

LONGEST = 200
"""Bytes of a run's name. A file's has 255, of which a hash takes some, and what is half written."""


def points(paper: str, figure: str, profile: str) -> list[Task]:
    """The runs of a figure, in the order of the profile's grids; with a replica's number in some.

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
        return _points(own, own.grids(profile), about)
    except ValueError as error:
        key = "runs" if profile == "paper" else profile
        raise about.refusal(figure, ((key,), str(error))) from error


def made(paper: str) -> list[str]:
    """The figures that a paper's pipeline makes: all of them; of a variant those that judge a
    sentence of the source and that the variant changes."""
    about = shelf.paper(paper)
    return [name for name in about.figures if not about.variant or _judges(about, name)]


def check(paper: str) -> None:
    """Raises UsageError, with file, line and key, where a change of a variant sets nothing in any
    figure, or what no experiment takes, and where it goes against what nothing states."""
    about = shelf.paper(paper)
    if not about.otherwise:
        return
    own = variants.file(about.home, about.variant)
    found: dict[int, list[bool]] = {}
    for figure in made(paper):
        for labels, overrides, changed in _changed(about, about.figures[figure]):
            for each in changed:
                if each.number not in found:
                    first = overrides | {one.key: one.value for one in changed}
                    try:
                        run(about.home, labels, first).load()
                    except UsageError as error:
                        raise variants.refused(own, each.number, error.message) from error
                found.setdefault(each.number, []).append(each.stated)
    for number, change in enumerate(about.otherwise.changes):
        if number not in found:
            raise variants.refused(own, number, f"nothing has {change.key}, or all have it so")
        if (change.against or change.within) and not any(found[number]):
            said = f"no experiment says that the source states {change.key}"
            raise variants.refused(own, number, said)


def _judges(about: Paper, figure: str) -> bool:
    plain = replace(about, variant="").figures[figure]
    claimed = any(each.sentence == "claim" for each in about.head.claims(plain.sentences))
    return claimed and _differs(about, figure)


def _differs(about: Paper, figure: str) -> bool:
    """Whether a variant of a paper changes a run of a figure, or has other grids of it."""
    plain, own = replace(about, variant="").figures[figure], about.figures[figure]
    return any(own.grids(each) != plain.grids(each) for each in PROFILES) or any(
        changed for _, _, changed in _changed(about, plain)
    )


def _changed(
    about: Paper, figure: Figure
) -> Iterator[tuple[dict[str, Value], Overrides, list[Applied]]]:
    """Each point of a figure's full grids: its labels, what it sets, and what its variant does."""
    for grid in figure.runs:
        for point in product(_factors(grid, figure, about.home)):
            source = shelf.experiment_file(about.home, str(point.labels[EXPERIMENT]))
            yield point.labels, point.overrides, about.changed(str(source), point.overrides)


def _points(figure: Figure, grids: Sequence[Grid], about: Paper) -> list[Task]:
    """The runs of a figure's grids. Raises ValueError, which says what is wrong with one."""
    home = about.home
    if len({REPLICAS in grid for grid in grids}) > 1:
        raise ValueError(f"either all grids of a figure have {REPLICAS}, or none")
    found = [
        run
        for grid in grids
        for point in product(_factors(grid, figure, home))
        for run in _replicas(point, grid.get(REPLICAS), about)
    ]
    counts = Counter(run.directory for run in found)
    if twice := [name for name, count in counts.items() if count > 1]:
        raise ValueError(f"two points are the same run, {twice[0]}")
    return found


def _replicas(point: Point, number: object, about: Paper) -> Iterator[Task]:
    """The runs of a point. Raises ValueError where its grid has both replicas and seeds."""
    source = str(shelf.experiment_file(about.home, str(point.labels[EXPERIMENT])))
    changed = about.changed(source, point.overrides)
    overrides = point.overrides | {each.key: each.value for each in changed}
    if not isinstance(number, int):
        yield run(about.home, point.labels, overrides, variant=about.variant)
        return
    if "seed" in point.overrides:
        raise ValueError(f"a grid has either {REPLICAS} or the axis 'seed'")
    own = content(source)
    first, stride = (int(overrides.get(key, own.get(key, 1))) for key in ("seed", "repeat"))
    for r in range(1, number + 1):
        seed = {"seed": first + (r - 1) * stride} if r > 1 else {}
        yield run(about.home, point.labels, overrides | seed, r, about.variant)


def run(
    home: Path,
    labels: Mapping[str, Value],
    overrides: Mapping[str, Value],
    replica: int = 0,
    variant: str = "",
) -> Task:
    """A run of the paper in a folder, of the experiment that its labels name."""
    experiment = str(labels[EXPERIMENT])
    settings = [f"{key}={text(value)}" for key, value in overrides.items()]
    return Task(
        directory=str(
            Path("results/runs", shelf.called(home, variant), experiment, _directory(settings))
        ),
        source=str(shelf.experiment_file(home, experiment)),
        settings=settings,
        labels={EXPERIMENT: experiment, **labels},
        replica=replica,
    )


def name(run: Task) -> str:
    """What a run sets and nothing else, so that figures and profiles share it."""
    return ",".join(run.settings) or UNCHANGED


def _directory(settings: Sequence[str]) -> str:
    """The name of a run without what a shell or Snakemake reads as its own.

    One that is too long for a file system ends in a hash of what it sets.
    """
    found = plain("+".join(settings).replace(",", "+"))
    return cut(found, LONGEST, ",".join(settings)) if len(found.encode()) > LONGEST else found


def files(run: Task) -> list[Path]:
    """The experiment file of a run, its bases, then the files that it names by path.

    These are topologies and workloads that are not of the checkout, traces and histograms.
    """
    file = Path(run.source)
    words = {*words_of(file), *_words(" ".join(run.settings))}
    named = {(file.parent / name).resolve() for name in words}
    return [file, *bases(file), *sorted(path for path in named if path.is_file())]


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
