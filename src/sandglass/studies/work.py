"""What a study has to run: which runs there are, which are done, and which go into one job."""

import shutil
from collections.abc import Sequence
from pathlib import Path

from sandglass.experiment.experiment import Experiment
from sandglass.run import finished
from sandglass.run.plan import resolve
from sandglass.studies import jobs
from sandglass.studies.jobs import Task
from sandglass.studies.points import Replica
from sandglass.studies.study import Study

RUNS = Path("logs/runs.json")
JOBS = Path("logs/jobs")
"""In the study's directory: what is told of all runs, and in a file for each job of its own."""


def task(study: Study, run: Replica) -> Task:
    """What a job is told of a run."""
    data, _ = run.point.experiment(study.experiment)
    return Task(
        directory=str(run.directory),
        source=str(study.source.absolute()),
        experiment=data,
        seed=run.seed,
        labels=run.point.labels,
        replica=run.number,
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


def write(
    out: Path, study: Study, runs: Sequence[Replica], todo: Sequence[Replica], cores: int | None
) -> None:
    """Tell the jobs, in the study's directory, of all its runs and of those that are to be done."""
    shutil.rmtree(out / JOBS, ignore_errors=True)
    (out / JOBS).mkdir(parents=True)
    (out / RUNS).write_text(jobs.told(task(study, run) for run in runs))
    left = [task(study, run) for run in todo]
    for number, part in enumerate(jobs.parts(left, _virtual_s, cores=cores)):
        (out / JOBS / f"batch_{number}.json").write_text(jobs.told(part))


def _virtual_s(task: Task) -> float:
    return jobs.virtual_s(task.experiment)


def tasks(out: Path = Path()) -> list[Task]:
    """All runs of the study in a directory."""
    return jobs.read((out / RUNS).read_text())


def batches(out: Path = Path()) -> dict[str, list[Task]]:
    """The runs of each job, by the name of Snakemake's rule for it."""
    return {file.stem: jobs.read(file.read_text()) for file in sorted((out / JOBS).iterdir())}
