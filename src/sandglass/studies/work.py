"""What a study has to run: which runs there are, which are done, and which go into one job."""

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sandglass.experiment import reading
from sandglass.experiment.experiment import Experiment
from sandglass.run import finished
from sandglass.run.plan import resolve
from sandglass.studies.points import Replica, rooted
from sandglass.studies.study import Study

FILE = Path("logs/work.json")
"""In the study's directory."""
LARGEST_BATCH = 40
"""Runs in one job: Snakemake and Python take half a second for each job, as a short run does."""

ON_A_CLUSTER = 20
"""Runs in one job there, where nobody knows how many go at once."""


@dataclass(frozen=True)
class Task:
    """One run, as a job is told of it."""

    directory: str
    seed: int
    labels: dict[str, Any]
    replica: int
    source: str
    experiment: dict[str, Any]

    @property
    def log(self) -> Path:
        """What the run says, relative to the study's directory."""
        return Path("logs") / Path(self.directory).with_suffix(".log").relative_to("runs")

    def written(self) -> dict[str, Any]:
        """The experiment as a file holds it that can be run from anywhere."""
        own = rooted(self.experiment, Path(self.source).parent)
        return {**own, "seed": self.seed}

    def load(self) -> Experiment:
        """The experiment. Raises UsageError, as a file that changed since would have it."""
        return reading.parse(self.experiment | {"seed": self.seed}, Path(self.source))


def task(study: Study, run: Replica) -> Task:
    """What a job is told of a run."""
    data, _ = run.point.experiment(study.experiment)
    return Task(
        directory=str(run.directory),
        seed=run.seed,
        labels=run.point.labels,
        replica=run.number,
        source=str(study.source.absolute()),
        experiment=data,
    )


def missing(study: Study, out: Path, runs: Sequence[Replica]) -> list[Replica]:
    """The runs that are not done, or were of another experiment or lab."""
    left = set(undone([task(study, run) for run in runs], out))
    return [run for run in runs if str(run.directory) in left]


def undone(tasks: Sequence[Task], out: Path = Path()) -> list[str]:
    """The directories that do not hold the run that a task would give now."""
    read: dict[str, Experiment] = {}
    found = []
    for each in tasks:
        home = str(Path(each.directory).parent)
        if home not in read:
            read[home] = each.load()
        experiment = read[home].model_copy(update={"seed": each.seed})
        plan = resolve(experiment, experiment.facts)
        if not finished.holds(out / each.directory, experiment, plan):
            found.append(each.directory)
    return found


def batches(runs: int, cores: int | None) -> list[int]:
    """The sizes of the jobs in which so many runs are done, the large ones first.

    The last jobs are small, so that no core is left with much to do when the others have ended.
    On a cluster, without `cores`, all are alike.
    """
    sizes = []
    while runs:
        most = math.ceil(runs / (1.5 * cores)) if cores else ON_A_CLUSTER
        sizes.append(min(LARGEST_BATCH, most, runs))
        runs -= sizes[-1]
    return sizes


def write(
    out: Path, study: Study, runs: Sequence[Replica], todo: Sequence[Replica], cores: int | None
) -> None:
    """Tell the jobs, in the study's directory, of all its runs and of those that are to be done."""
    jobs, rest = [], [str(run.directory) for run in todo]
    for size in batches(len(rest), cores):
        jobs.append(rest[:size])
        rest = rest[size:]
    content = {
        "runs": [vars(task(study, run)) for run in runs],
        "batches": jobs,
    }
    path = out / FILE
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content) + "\n")


def tasks(out: Path = Path()) -> list[Task]:
    """All runs of the study in a directory."""
    return [Task(**each) for each in json.loads((out / FILE).read_text())["runs"]]


def parts(out: Path) -> dict[str, int]:
    """How many runs each of Snakemake's rules for them does."""
    content = json.loads((out / FILE).read_text())
    return {f"batch_{n}": len(batch) for n, batch in enumerate(content["batches"])}


def batch(number: int, out: Path = Path()) -> list[Task]:
    """The runs of one job."""
    content = json.loads((out / FILE).read_text())
    chosen = content["batches"][number]
    by_directory = {each["directory"]: each for each in content["runs"]}
    return [Task(**by_directory[name]) for name in chosen]
