"""What a study would do, in words; nothing runs."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from sandglass.run import kept, preview
from sandglass.run.preview import Preview, said
from sandglass.studies import work
from sandglass.studies.points import Replica
from sandglass.studies.study import Study

MOST_WARNINGS = 8


@dataclass(frozen=True)
class StudyPreview:
    """A study that nothing is wrong with, as it would be done."""

    study: Study
    runs: list[tuple[Replica, Preview]]
    """Those that every point has; of the replicas of one only the seed differs."""
    kept: int
    """How many of them are in the cache of runs."""

    @property
    def points(self) -> dict[str, Preview]:
        """The first run of each point, by the point's name."""
        return {run.point.name: found for run, found in reversed(self.runs)}

    @property
    def labs_s(self) -> float | None:
        """The time of all runs, one after the other; None where nothing limits one."""
        times = [found.expected.wall_s for _, found in self.runs]
        return None if None in times else sum(filter(None, times))

    @property
    def warnings(self) -> dict[str, list[str]]:
        """Each with the names of the points that it is about."""
        found: dict[str, list[str]] = {}
        for name, point in self.points.items():
            for warning in point.warnings:
                found.setdefault(warning, []).append(name)
        return found

    def as_json(self) -> dict[str, Any]:
        """For programs; the experiments are told as `check` tells one."""
        return {
            "title": self.study.title,
            "points": {name: found.as_json() for name, found in self.points.items()},
            "runs": len(self.runs),
            "kept": self.kept,
            "expected": {"labs_s": self.labs_s, "memory_mb": self._memory_mb},
            "warnings": self.warnings,
        }

    @property
    def _memory_mb(self) -> int:
        return max(found.expected.memory_mb for _, found in self.runs)

    def told(self) -> Iterator[str]:
        """For people, in lines: the study, and the experiment of its first point."""
        study, (_, first) = self.study, self.runs[0]
        yield study.title
        yield ""
        yield from said("varies", list(self._grid()))
        yield from said("replicas", [self._replicas()])
        yield from said("runs", [f"{len(self.runs)}, of which {self.kept} are in the cache"])
        yield from said("measures", [", ".join(study.metrics)])
        yield from said("expected", [self._expected()])
        many = [
            f"{warning} ({', '.join(names[:3])}{', …' if len(names) > 3 else ''})"
            for warning, names in self.warnings.items()
        ]
        for warning in many[:MOST_WARNINGS]:
            yield from said("warning", [warning])
        yield ""
        yield f"the first point, {self.runs[0][0].point.name}:"
        yield from (f"  {line}".rstrip() for line in list(first.told(warned=False))[1:])

    def _grid(self) -> Iterator[str]:
        """Each axis with its values."""
        found: dict[str, dict[str, None]] = {}
        for run, _ in self.runs:
            for axis, label in run.point.labels.items():
                found.setdefault(axis, {})[str(label)] = None
        yield from (f"{axis}: {', '.join(labels)}" for axis, labels in found.items())

    def _replicas(self) -> str:
        rule = self.study.rule
        if rule is None:
            return f"{self.study.first} of each point, with the seeds {self.study.seed}, …"
        return (
            f"{self.study.first} of each point, and more until the interval of {rule.of} is within "
            f"{rule.within}, {rule.most} at most"
        )

    def _expected(self) -> str:
        if self.labs_s is None:
            return preview.FREE
        cores = len(os.sched_getaffinity(0))
        share = 1 - self.kept / len(self.runs)
        return (
            f"{share * self.labs_s:.0f} s of labs, {share * self.labs_s / cores:.0f} s on {cores} "
            f"processors, and what starting and measuring takes; up to {self._memory_mb} MB a lab"
        )


def study_preview(study: Study) -> StudyPreview:
    """What would be done. Raises UsageError for what `study` would refuse."""
    points: dict[str, Preview] = {}
    runs, there = [], 0
    kept_runs = kept.names() if kept.limit() else set()
    for run in study.runs():
        name = run.point.name
        if name not in points:
            points[name] = preview.preview(work.task(study, run).load())
        experiment = points[name].experiment.model_copy(update={"seed": run.seed})
        plan = points[name].plan | {"seed": run.seed}
        there += kept.key(experiment, plan) in kept_runs if kept_runs else 0
        runs.append((run, points[name]))
    return StudyPreview(study, runs, there)
