"""Which of a paper's runs go into one job.

They are of one experiment and one set of modules, the same figures need them, and the same profile
is the first that has them: so a job is the same in every profile that contains it, and a figure's
jobs do no others' runs.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from sandglass.install import builds
from sandglass.papers import grid
from sandglass.papers.profiles import PROFILES
from sandglass.studies import jobs
from sandglass.studies.jobs import Task


class Kind(NamedTuple):
    """What the runs of a job have in common."""

    experiment: str
    modules: tuple[str, ...]
    """The out-of-tree modules that each of the runs names, in its experiment or its settings."""
    files: tuple[Path, ...]
    """The experiment file, and the files that the runs name by their paths."""
    needs: tuple[tuple[str, str], ...]
    """The profiles and figures that have them."""


@dataclass(frozen=True)
class Batch:
    """The runs of one job."""

    paper: str
    rule: str
    """The name of Snakemake's rule for it."""
    kind: Kind
    tasks: list[Task]

    @property
    def directories(self) -> list[str]:
        """Where the runs lie."""
        return [each.directory for each in self.tasks]


def batches(paper: str, profile: str) -> list[Batch]:
    """All runs of a profile, each once. Raises UsageError where a profile is wrong."""
    figures = grid.made(paper)
    needs: dict[str, list[tuple[str, str]]] = defaultdict(list)
    points: dict[str, Task] = {}
    sizes: Counter[tuple[str, str]] = Counter()
    for each in PROFILES:
        for figure in figures:
            for point in grid.points(paper, figure, each):
                needs[point.directory].append((each, figure))
                points.setdefault(point.directory, point)
                sizes[each, figure] += 1
    patterns = {name: builds.module_pattern(found) for name, found in builds.modules().items()}
    texts: dict[str, set[str]] = {}
    alike: dict[Kind, list[Task]] = defaultdict(list)
    for directory, point in points.items():
        if profile in {each for each, _ in needs[directory]}:
            experiment = point.labels[grid.EXPERIMENT]
            if experiment not in texts:
                texts[experiment] = _named(patterns, grid.text_of(Path(point.source)))
            named = texts[experiment] | _named(patterns, grid.name(point))
            modules = tuple(name for name in patterns if name in named)
            kind = Kind(experiment, modules, tuple(grid.files(point)), tuple(needs[directory]))
            # What a figure calls it decides nothing.
            alike[kind].append(replace(point, labels={}, replica=0))
    parts = [
        (kind, part)
        for kind, own in alike.items()
        for part in jobs.parts(own, min(sizes[each] for each in kind.needs))
    ]
    return [Batch(paper, f"run_{paper}_{n}", *part) for n, part in enumerate(parts)]


def _named(patterns: Mapping[str, re.Pattern[str]], text: str) -> set[str]:
    return {name for name, pattern in patterns.items() if pattern.search(text)}


def counts(papers: Sequence[str], profile: str) -> dict[str, int]:
    """How many runs each rule does."""
    return {each.rule: len(each.tasks) for name in papers for each in batches(name, profile)}
