"""Which of a paper's runs go into one job.

They are of one experiment and one set of modules, the same figures need them, and the same profile
is the first that has them: so a job is the same in every profile that contains it, and a figure's
jobs do no others' runs.
"""

import json
import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from sandglass.experiment.units import parse_time
from sandglass.install import builds
from sandglass.papers import grid, shelf
from sandglass.papers.grid import Point
from sandglass.papers.profiles import PROFILES

MOST = 20
"""Runs in one job."""
MOST_S = 1800.0
"""Virtual seconds of a job with several runs: some twenty seconds of a processor."""
LEAST_JOBS = 4
"""Jobs of a figure with as many runs, so that several processors share them."""


class Kind(NamedTuple):
    """What the runs of a job have in common."""

    experiment: str
    modules: tuple[str, ...]
    files: tuple[Path, ...]
    needs: tuple[tuple[str, str], ...]
    """The profiles and figures that have them."""


@dataclass(frozen=True)
class Batch:
    """The runs of one job."""

    paper: str
    experiment: str
    rule: str
    """The name of Snakemake's rule for it."""
    modules: tuple[str, ...]
    """The out-of-tree modules that each of the runs names, in its experiment or its settings."""
    files: tuple[Path, ...]
    """The experiment file, and the files that the runs name by their paths."""
    points: list[Point]

    @cached_property
    def directories(self) -> list[str]:
        """Where the runs lie."""
        return [str(point.directory(self.paper)) for point in self.points]

    @property
    def words(self) -> list[str]:
        """The runs as the job's command is told of them: directory and settings, as JSON."""
        return [
            json.dumps([directory, point.settings])
            for directory, point in zip(self.directories, self.points, strict=True)
        ]


def batches(paper: str, profile: str) -> list[Batch]:
    """All runs of a profile, each once. Raises UsageError where a profile is wrong."""
    home = shelf.folder(paper)
    figures = shelf.paper(paper).figures
    needs: dict[tuple[str, str], list[tuple[str, str]]] = defaultdict(list)
    points: dict[tuple[str, str], Point] = {}
    sizes: Counter[tuple[str, str]] = Counter()
    for each in PROFILES:
        for figure in figures:
            for point in grid.points(paper, figure, each):
                needs[point.key].append((each, figure))
                points.setdefault(point.key, point)
                sizes[each, figure] += 1
    patterns = {name: builds.module_pattern(found) for name, found in builds.modules().items()}
    texts: dict[str, set[str]] = {}
    alike: dict[Kind, list[Point]] = defaultdict(list)
    for key, point in points.items():
        if profile in {each for each, _ in needs[key]}:
            if point.experiment not in texts:
                text = grid.text_of(shelf.experiment_file(home, point.experiment))
                texts[point.experiment] = _named(patterns, text)
            named = texts[point.experiment] | _named(patterns, point.name)
            modules = tuple(name for name in patterns if name in named)
            files = tuple(point.files(home))
            kind = Kind(point.experiment, modules, files, tuple(needs[key]))
            alike[kind].append(point)
    found: list[Batch] = []
    for kind, own in alike.items():
        most = min(MOST, math.ceil(min(sizes[each] for each in kind.needs) / LEAST_JOBS))
        for part in _parts(home, own, most):
            rule = f"run_{paper}_{len(found)}"
            found.append(Batch(paper, kind.experiment, rule, kind.modules, kind.files, part))
    return found


def _named(patterns: Mapping[str, re.Pattern[str]], text: str) -> set[str]:
    return {name for name, pattern in patterns.items() if pattern.search(text)}


def counts(papers: Sequence[str], profile: str) -> dict[str, int]:
    """How many runs each rule does."""
    return {each.rule: len(each.points) for name in papers for each in batches(name, profile)}


def _parts(home: Path, points: Sequence[Point], most: int) -> Iterator[list[Point]]:
    """Points of one experiment, a job's at a time."""
    part: list[Point] = []
    part_s = 0.0
    for point in points:
        own_s = virtual_s(home, point)
        if part and (len(part) == most or part_s + own_s > MOST_S):
            yield part
            part, part_s = [], 0.0
        part.append(point)
        part_s += own_s
    yield part


def virtual_s(home: Path, point: Point) -> float:
    """How long a run of the paper in a folder is, in the lab's time."""
    own = grid.content(shelf.experiment_file(home, point.experiment))
    duration = point.overrides.get("duration", own.get("duration", "0s"))
    repeat = point.overrides.get("repeat", own.get("repeat", 1))
    return int(repeat) * parse_time(str(duration)) / 1e9
