"""What a study would do, in words; nothing runs."""

import contextlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from sandglass.errors import SandglassError
from sandglass.guide import preview
from sandglass.guide.preview import Preview, said
from sandglass.install import memory
from sandglass.run import kept
from sandglass.studies.jobs import Task
from sandglass.studies.points import text
from sandglass.studies.study import Study

MOST_WARNINGS = 8
MOST_POINTS = 3
"""Of those that a warning is about."""
MINUTES_FROM_S, HOURS_FROM_S = 120, 7200


class Planned(NamedTuple):
    """A run, as it would be done."""

    run: Task
    preview: Preview
    kept: bool
    """Whether it is in the cache of runs."""


@dataclass(frozen=True)
class StudyPreview:
    """A study that nothing is wrong with, as it would be done."""

    study: Study
    runs: list[Planned]
    """Those that every point has; of the replicas of one only the seed differs."""

    @property
    def kept(self) -> int:
        """How many of them are in the cache of runs."""
        return sum(each.kept for each in self.runs)

    @property
    def points(self) -> dict[str, Preview]:
        """The first run of each point, by the point's name."""
        found: dict[str, Preview] = {}
        for each in self.runs:
            found.setdefault(each.run.point, each.preview)
        return found

    @property
    def most(self) -> int:
        """How many runs there may be, where more replicas are added."""
        rule = self.study.rule
        return len(self.points) * rule.most if rule else len(self.runs)

    @property
    def labs_s(self) -> float | None:
        """The time of all runs, one after the other; None where nothing limits one."""
        return _sum(self.runs)

    @property
    def left_s(self) -> tuple[float, float] | None:
        """The time of those that are not in the cache, and with all that may be added."""
        left, whole = _sum([each for each in self.runs if not each.kept]), self.labs_s
        if left is None or whole is None:
            return None
        return left, left + whole * (self.most / len(self.runs) - 1)

    @property
    def memory_mb(self) -> int:
        """What the largest lab takes at most."""
        return max(point.expected.memory_mb for point in self.points.values())

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
            "most_runs": self.most,
            "kept": self.kept,
            "expected": {"labs_s": self.labs_s, "memory_mb": self.memory_mb},
            "warnings": self.warnings,
        }

    def told(self) -> Iterator[str]:
        """For people, in lines: what it takes, the study, and the experiment of its first point."""
        first = self.runs[0]
        yield self.study.title
        yield ""
        yield from said("runs", [self._runs()])
        yield from said("time", [self._time()])
        yield from said("memory", [self._memory()])
        yield from said("replicas", [self._replicas()])
        yield from said("varies", list(self._grid()))
        yield from said("measures", [", ".join(self.study.metrics)])
        many = [f"{warning} ({self._at(names)})" for warning, names in self.warnings.items()]
        for warning in many[:MOST_WARNINGS]:
            yield from said("warning", [warning])
        if (more := len(many) - MOST_WARNINGS) > 0:
            yield from said("warning", [f"and {more} more"])
        yield ""
        yield f"the first point, {first.run.point}:" if self.study.axes else "the only point:"
        yield from (f"  {line}".rstrip() for line in list(first.preview.told(warned=False))[1:])

    def _runs(self) -> str:
        first = len(self.runs)
        if self.most == first:
            return f"{first}, of which {self.kept} are in the cache"
        return f"{first} to {self.most}; of the first {first}, {self.kept} are in the cache"

    def _time(self) -> str:
        if self.left_s is None:
            return preview.FREE
        least, most = self.left_s
        if not most:
            return "what starting and measuring takes"
        cores = _cores()
        shared = f", {_range(least / cores, most / cores)} on {cores} processors"
        whole = f"{_range(least, most)} of labs{shared if cores > 1 else ''}"
        return f"{whole}, and what starting and measuring takes"

    def _memory(self) -> str:
        each, free = self.study.memory_mb, memory.available_mb()
        at_once = max(1, min(_cores(), free // each))
        return (
            f"up to {self.memory_mb} MB a lab; {at_once} at once, with {each} MB for each of the "
            f"{free} MB that are free"
        )

    def _replicas(self) -> str:
        study, points = self.study, len(self.points)
        each = f"of each of {points} points" if points > 1 else "of the point"
        seeds = [study.seed + number * study.stride for number in range(study.first)]
        if (rule := study.rule) is not None:
            unit = " of its mean" if isinstance(rule.within, str) else ""
            return (
                f"{study.first} {each}, and more until half the 95 % interval of {rule.of} is "
                f"within {rule.within}{unit}, {rule.most} at most; seeds from {study.seed} on"
            )
        if len(seeds) == 1:
            return f"1 {each}, with seed {seeds[0]}"
        if study.stride == 1:
            return f"{study.first} {each}, with seeds {seeds[0]} to {seeds[-1]}"
        listed = ", ".join(map(str, seeds[:3])) + (", …" if len(seeds) > 3 else "")
        return f"{study.first} {each}, with seeds {listed}"

    def _at(self, names: list[str]) -> str:
        """Some points in words."""
        if len(names) == len(self.points):
            return "at all points"
        return f"{'; '.join(names[:MOST_POINTS])}{'; …' if len(names) > MOST_POINTS else ''}"

    def _grid(self) -> Iterator[str]:
        """Each axis with its values; of those that go in step the values stand together."""
        for factor in self.study.factors:
            values = (", ".join(map(text, setting.labels.values())) for setting in factor)
            if len(factor[0].labels) > 1:
                values = (f"({value})" for value in values)
            yield f"{', '.join(factor[0].labels)}: {', '.join(values)}"


def _cores() -> int:
    return len(os.sched_getaffinity(0))


def _sum(runs: list[Planned]) -> float | None:
    times = [each.preview.expected.wall_s for each in runs]
    return None if None in times else sum(filter(None, times))


def _range(least_s: float, most_s: float) -> str:
    least, most = _said(least_s), _said(most_s)
    return least if least == most else f"{least} to {most}"


def _said(seconds: float) -> str:
    """A time as one looks forward to it."""
    if seconds < MINUTES_FROM_S:
        return f"{seconds:.0f} s"
    if seconds < HOURS_FROM_S:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"


def study_preview(study: Study) -> StudyPreview:
    """What would be done. Raises UsageError for what `study` would refuse."""
    points: dict[str, Preview] = {}
    runs = []
    kept_runs = kept.names() if kept.limit() else set()
    for run in study.runs():
        name = run.point
        if name not in points:
            points[name] = preview.preview(run.load())
        there = False
        if kept_runs:
            experiment = points[name].experiment.model_copy(update={"seed": run.seed})
            with contextlib.suppress(SandglassError):  # its lab is not built: no run is kept
                there = kept.key(experiment, points[name].plan | {"seed": run.seed}) in kept_runs
        runs.append(Planned(run, points[name], there))
    return StudyPreview(study, runs)
