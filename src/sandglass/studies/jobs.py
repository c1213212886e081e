"""Runs in jobs of Snakemake's: what a job is told of each of its runs, and how many it has.

Snakemake and Python take half a second for each job, as a short run does. So a job does some runs,
in one process (batch.py).
"""

import functools
import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import yaml

from sandglass.experiment import document, reading
from sandglass.experiment.experiment import Experiment
from sandglass.experiment.units import parse_time
from sandglass.studies.points import named, rooted

MOST = 20
"""Runs in one job."""
MOST_S = 1800.0
"""Virtual seconds of a job with several runs: some twenty seconds of a processor."""
LEAST_JOBS = 4
"""Jobs of as many runs that are wanted together, where nobody knows how many processors share them:
on a cluster, and of a paper, whose jobs are the same everywhere."""
A_CORE = 1.5
"""Jobs for each processor, of the runs that are left."""


@dataclass(frozen=True)
class Task:
    """One run, as a job is told of it."""

    directory: str
    """Below runs/, from where the job is at work."""
    source: str
    """The experiment's file, to which its paths are relative."""
    settings: list[str] = field(default_factory=list)
    """What is set of the file's keys: KEY=VALUE."""
    experiment: dict[str, Any] = field(default_factory=dict)
    """What is run instead of the file with the settings: of a study, at one of its points."""
    seed: int = 0
    labels: dict[str, Any] = field(default_factory=dict)
    replica: int = 0
    """Of a study's run: its seed, and what the table says of it besides."""

    @property
    def home(self) -> Path:
        """Where the replicas of its point lie, in a study."""
        return Path(self.directory).parent

    @property
    def point(self) -> str:
        """Its point in words."""
        return named(self.labels)

    @property
    def virtual_s(self) -> float:
        """How long it is in the lab's time."""
        own = self.experiment or content(self.source)
        told = {**own, **dict(each.split("=", 1) for each in self.settings)}
        return int(told.get("repeat", 1)) * parse_time(str(told.get("duration", "0s"))) / 1e9

    @property
    def log(self) -> Path:
        """Where it says what it says: logs/ has a file for each run in runs/."""
        return Path(f"{self.directory.replace('runs/', 'logs/', 1)}.log")

    def load(self) -> Experiment:
        """The experiment. Raises UsageError, as a file that changed since would have it."""
        if not self.experiment:
            return reading.load(self.source, self.settings)
        return reading.parse(self.experiment | {"seed": self.seed}, Path(self.source))

    def written(self) -> dict[str, Any]:
        """The experiment of a study's run, as a file holds it that can be run from anywhere."""
        own = rooted(self.experiment, Path(self.source).parent)
        return {**own, "seed": self.seed}

    @contextmanager
    def file(self) -> Iterator[Path]:
        """The file that the run keeps: its source, or of a study's run one of what it does."""
        if not self.experiment:
            yield Path(self.source)
            return
        with TemporaryDirectory(prefix="sandglass-") as name:
            file = Path(name) / "experiment.yaml"
            file.write_text(yaml.safe_dump(self.written(), sort_keys=False, allow_unicode=True))
            yield file


def told(tasks: Iterable[Task]) -> str:
    """The runs of a job as its process reads them."""
    return json.dumps(
        [{key: value for key, value in vars(each).items() if value} for each in tasks]
    )


def read(text: str) -> list[Task]:
    """What was `told`."""
    return [Task(**each) for each in json.loads(text)]


def parts(
    runs: Sequence[Task], wanted: int | None = None, cores: int | None = None
) -> Iterator[list[Task]]:
    """Runs, a job's at a time.

    Args:
        wanted: how many runs are wanted together, of which these are some; by default these.
        cores: the processors that do all of them. The last jobs are small then, so that none has
            much to do when the others have ended.
    """
    left = list(runs)
    while left:
        of = len(left) / (A_CORE * cores) if cores else (wanted or len(runs)) / LEAST_JOBS
        most = min(MOST, math.ceil(of), len(left))
        size, whole_s = 1, left[0].virtual_s
        while size < most and (whole_s := whole_s + left[size].virtual_s) <= MOST_S:
            size += 1
        yield left[:size]
        left = left[size:]


def minutes(tasks: Sequence[Task]) -> int:
    """What a cluster gives a job. The watchdog ends a lab that hangs after five."""
    return 10 + 5 * len(tasks)


@functools.cache
def content(source: str) -> Mapping[str, Any]:
    """What stands in an experiment's file, on its bases."""
    return document.read(Path(source)).data
