"""How far a work is, from what has been told of it."""

import time
from collections.abc import Mapping
from dataclasses import dataclass

from sandglass.workflow.events import Event, What

RUN = "run"
"""The rule whose jobs, or parts, are runs."""


@dataclass(frozen=True)
class Running:
    """A job or part that is at work."""

    name: str
    rule: str
    since_s: float
    """By the clock of time.monotonic()."""


@dataclass(frozen=True)
class Failure:
    """A job or part that has failed, and where it says why."""

    name: str
    logs: list[str]


@dataclass
class Count:
    """How many there are of something, and how many of these are done."""

    done: int = 0
    of: int = 0


class State:
    """How far a work is.

    Args:
        parts: how many runs the jobs of a rule tell of themselves. Such jobs count as these alone;
            one on a node of a cluster cannot tell, and counts as all of them when it ends.
    """

    def __init__(self, parts: Mapping[str, int]) -> None:
        self._parts = parts
        self._jobs: dict[str, str] = {}
        """The rules of the jobs that have parts, by the jobs' ids."""
        self._told: set[str] = set()
        self._told_failure: set[str] = set()
        """The rules whose parts have told something, and that one has failed."""
        self.runs = Count()
        self.steps = Count()
        """All that is no run: tables, figures, verdicts, pages."""
        self.running: dict[str, Running] = {}
        self.failures: list[Failure] = []
        self.errors: list[str] = []
        """What Snakemake says when it can't go on."""
        self._began_s: float | None = None

    def take(self, event: Event) -> None:
        """Go on by what has been told."""
        if event.job:
            self._told.add(event.job)
            if event.what is What.FAILED:
                self._told_failure.add(event.job)
        match event.what:
            case What.PLANNED:
                self._plan(event.jobs)
            case What.BEGAN:
                self._began_s = self._began_s or time.monotonic()
                if event.rule in self._parts:
                    self._jobs[event.id] = event.rule
                else:
                    self.running[event.id] = Running(event.name, event.rule, time.monotonic())
            case What.ENDED | What.FAILED:
                ended = self.running.pop(event.id, None)
                if ended and event.what is What.ENDED:
                    self._count(ended.rule).done += 1
                job = self._jobs.pop(event.id, "")
                if job and job not in self._told and event.what is What.ENDED:
                    self.runs.done += self._parts[job]
                if event.what is What.FAILED and event.rule not in self._told_failure:
                    name = ended.name if ended else event.name or event.rule
                    self.failures.append(Failure(name, event.logs))
            case What.ERROR:
                self.errors.append(event.name)

    def _plan(self, jobs: Mapping[str, int]) -> None:
        self.runs.of = sum(self._parts[rule] for rule in jobs if rule in self._parts)
        self.steps.of = 0
        for rule, number in jobs.items():
            if rule not in self._parts:
                self._count(rule).of += number

    def _count(self, rule: str) -> Count:
        return self.runs if rule == RUN else self.steps

    @property
    def done(self) -> int:
        """Runs and steps that are done."""
        return self.runs.done + self.steps.done

    @property
    def of(self) -> int:
        """Runs and steps in all."""
        return self.runs.of + self.steps.of

    def rate(self) -> float | None:
        """Runs and steps done in a second; None before the first."""
        if self._began_s is None or not self.done:
            return None
        return self.done / max(time.monotonic() - self._began_s, 1e-3)

    def left_s(self) -> float | None:
        """How long the rest takes when it goes on as it has; None when that is not known yet."""
        rate = self.rate()
        return (self.of - self.done) / rate if rate else None
