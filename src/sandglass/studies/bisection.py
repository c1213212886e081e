"""A history of a kernel's tree, searched for the commit with which a metric left its bounds.

As `git bisect` does, whose choice of revisions comes from `git rev-list --bisect-all`, too. So
nothing is checked out, and nothing in the repository changes.
"""

import csv
import os
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Final

from sandglass.errors import SandglassError, UsageError
from sandglass.experiment.experiment import Experiment
from sandglass.install import builds, setup_lab, tree
from sandglass.install.tree import git
from sandglass.results import series
from sandglass.run import runs
from sandglass.studies.metric import Metric

TABLE: Final = "revisions.csv"
GOOD, BAD, SKIPPED = "good", "bad", "skipped"
LONGEST: Final = 200
"""Characters of what is told of a revision."""


@dataclass(frozen=True)
class Bound:
    """What makes a revision bad."""

    value: float
    above: bool

    def verdict(self, found: float) -> str:
        """What a revision is whose metric has this value."""
        return BAD if (found > self.value if self.above else found < self.value) else GOOD

    def __str__(self) -> str:
        return f"{'above' if self.above else 'below'} {self.value:g}"


@dataclass(frozen=True)
class Measured:
    """A revision that was tried: a row of the table."""

    commit: str
    subject: str
    verdict: str
    value: float | None = None
    lab: str = ""
    digest: str = ""
    build_s: float | None = None
    run_s: float | None = None
    why: str = ""
    """Of one that was skipped."""


@dataclass(frozen=True)
class Found:
    """What came out."""

    guilty: tuple[str, ...]
    """The first bad commit; several, where revisions between them could not be measured."""
    measured: tuple[Measured, ...]


def search(place: Path, good: str, bad: str, measure: Callable[[str], Measured]) -> Found:
    """Find the commit with which a history becomes bad.

    Both ends are measured first. Raises UsageError where they are not what they are said to be, or
    `good` is no ancestor of `bad`.
    """
    good, bad = tree.resolve(place, good), tree.resolve(place, bad)
    if good == bad or git(place, "merge-base", good, bad).strip() != good:
        raise UsageError(
            f"the commit {good[:12]} is no ancestor of {bad[:12]}",
            "Name as good one that the bad one's history has.",
        )
    measured = []
    for commit, wanted in ((bad, BAD), (good, GOOD)):
        measured.append(found := measure(commit))
        if found.verdict != wanted:
            said = found.why if found.verdict == SKIPPED else f"the metric is {found.value:g}"
            raise UsageError(
                f"{commit[:12]} is {found.verdict} and not {wanted}: {said}",
                "Name other ends, or another bound.",
            )
    goods, skipped = [good], set[str]()
    while True:
        left = candidates(place, bad, goods)
        further = [commit for commit in left if commit != bad and commit not in skipped]
        if not further:
            return Found((*(each for each in left if each != bad), bad), tuple(measured))
        measured.append(found := measure(further[0]))
        if found.verdict == BAD:
            bad = found.commit
        elif found.verdict == GOOD:
            goods.append(found.commit)
        else:
            skipped.add(found.commit)


def candidates(place: Path, bad: str, goods: Sequence[str]) -> list[str]:
    """What may be guilty yet, that first which halves the rest best."""
    listed = git(place, "rev-list", "--bisect-all", bad, *(f"^{good}" for good in goods))
    return [line.split()[0] for line in listed.splitlines()]


def between(place: Path, good: str, bad: str) -> list[str]:
    """The commits that a bad one has and a good one has not; raises UsageError."""
    good, bad = tree.resolve(place, good), tree.resolve(place, bad)
    return git(place, "rev-list", bad, f"^{good}").split()


def told(place: Path, commit: str) -> str:
    """A commit as one names it: its number, who made it when, and its subject."""
    return git(place, "show", "-s", "--format=%h %an, %as: %s", "--abbrev=12", commit).strip()


@dataclass(frozen=True)
class Trial:
    """How a revision is tried."""

    place: Path
    fragment: Path | None
    experiment: Experiment
    source: Path
    metric: Metric
    bound: Bound
    out: Path

    def measure(self, commit: str) -> Measured:
        """Build a revision's lab, run the experiment in it, and measure; what fails is skipped.

        Raises UsageError where no revision could be run.
        """
        subject = git(self.place, "show", "-s", "--format=%s", commit).strip()[:LONGEST]
        row = Measured(commit, subject, SKIPPED)
        started = time.monotonic()
        try:
            lab = self._lab(commit)
            built = time.monotonic()
            directory = self.out / "runs" / commit[:12]
            # The environment is what Snakemake's jobs and labs within labs go by, too.
            os.environ["SANDGLASS_LAB"] = lab.id
            result = runs.run(self.experiment, self.source, directory, cached=True)
            value = self.metric.value(series.load(directory, {}))
        except UsageError:
            raise
        except (SandglassError, ValueError) as error:
            said = error.message if isinstance(error, SandglassError) else str(error)
            return _with(row, why=said[:LONGEST])
        return _with(
            row,
            verdict=self.bound.verdict(value),
            value=value,
            lab=lab.id,
            digest=result.content["digest"],
            build_s=round(built - started, 1),
            run_s=round(time.monotonic() - built, 1),
        )

    def _lab(self, commit: str) -> builds.Lab:
        label = tree.revision(self.place, commit).label
        log = self.out / "logs" / f"{commit[:12]}.log"
        log.parent.mkdir(parents=True, exist_ok=True)
        words = setup_lab.of_tree(self.place, self.fragment)
        with log.open("w") as file:
            done = subprocess.run(
                [*setup_lab.BUILD, *words, "--revision", commit],
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.STDOUT,
                umask=setup_lab.READABLE,
                check=False,
            )
        if done.returncode:
            raise SandglassError(f"it is not built: see {log}")
        return builds.lab_called(label)


def _with(row: Measured, **changes: str | float) -> Measured:
    return Measured(**asdict(row) | changes)


def write(path: Path, rows: Sequence[Measured]) -> None:
    """The revisions as a table, in the order in which they were tried."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, [each.name for each in fields(Measured)], lineterminator="\n")
        writer.writeheader()
        writer.writerows(map(asdict, rows))
