"""Which of a paper's runs go into one job: some of one experiment that the same figures need."""

import functools
import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sandglass.experiment.units import parse_time
from sandglass.papers import grid, shelf
from sandglass.papers.grid import Point

MOST = 20
"""Runs in one job."""
MOST_S = 600.0
"""Virtual seconds of a job with several runs: some ten seconds of a processor."""
LEAST_JOBS = 4
"""Jobs of as many runs or more, so that several processors share the runs of one figure."""


@dataclass(frozen=True)
class Batch:
    """The runs of one job."""

    paper: str
    experiment: str
    rule: str
    """The name of Snakemake's rule for it."""
    points: list[Point]

    @property
    def directories(self) -> list[str]:
        """Where the runs lie."""
        return [str(point.directory(self.paper)) for point in self.points]


@functools.cache
def batches(paper: str, profile: str) -> list[Batch]:
    """All runs of a paper, each once. Raises UsageError where a profile is wrong."""
    needed: dict[str, list[str]] = defaultdict(list)
    points: dict[str, Point] = {}
    for figure in shelf.figures(paper).figures:
        for point in grid.points(paper, figure, profile):
            directory = str(point.directory(paper))
            needed[directory].append(figure)
            points.setdefault(directory, point)
    alike: dict[tuple[str, ...], list[Point]] = defaultdict(list)
    for directory, point in points.items():
        alike[point.experiment, *needed[directory]].append(point)
    found = [part for group in alike.values() for part in _parts(paper, group)]
    return [
        Batch(paper, part[0].experiment, f"run_{paper}_{number}", part)
        for number, part in enumerate(found)
    ]


def of_rule(rule: str, profile: str) -> Batch:
    """The batch that a rule does."""
    paper, _, number = rule.removeprefix("run_").rpartition("_")
    return batches(paper, profile)[int(number)]


def counts(papers: Sequence[str], profile: str) -> dict[str, int]:
    """How many runs each rule does."""
    return {each.rule: len(each.points) for name in papers for each in batches(name, profile)}


def _parts(paper: str, points: Sequence[Point]) -> Iterator[list[Point]]:
    """Points of one experiment, a job's at a time."""
    most = min(MOST, math.ceil(len(points) / LEAST_JOBS))
    part: list[Point] = []
    for point in points:
        part_s = sum(virtual_s(paper, each) for each in [*part, point])
        if part and (len(part) == most or part_s > MOST_S):
            yield part
            part = []
        part.append(point)
    yield part


def virtual_s(paper: str, point: Point) -> float:
    """How long a run is, in the lab's time."""
    own = grid.content(shelf.experiment_file(shelf.folder(paper), point.experiment))
    duration = point.overrides.get("duration", own.get("duration", "0s"))
    repeat = point.overrides.get("repeat", own.get("repeat", 1))
    return int(repeat) * parse_time(str(duration)) / 1e9
