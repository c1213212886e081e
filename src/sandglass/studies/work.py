"""What a study has to run: which runs are done, and which go into one job."""

import shutil
from collections.abc import Sequence
from pathlib import Path

from sandglass.experiment.experiment import Experiment
from sandglass.run import finished
from sandglass.run.plan import resolve
from sandglass.studies import jobs
from sandglass.studies.jobs import Task

RUNS = Path("logs/runs.json")
JOBS = Path("logs/jobs")
"""In the study's directory: what is told of all runs, and in a file for each job of its own."""


def missing(tasks: Sequence[Task], out: Path = Path()) -> list[Task]:
    """The runs that are not done, or were of another experiment or lab."""
    read: dict[Path, Experiment] = {}
    found = []
    for each in tasks:
        if each.home not in read:
            read[each.home] = each.load()
        experiment = read[each.home].model_copy(update={"seed": each.seed})
        plan = resolve(experiment, experiment.facts)
        if not finished.holds(out / each.directory, experiment, plan):
            found.append(each)
    return found


def write(out: Path, runs: Sequence[Task], todo: Sequence[Task], cores: int | None) -> None:
    """Tell the jobs, in the study's directory, of all its runs and of those that are to be done."""
    shutil.rmtree(out / JOBS, ignore_errors=True)
    (out / JOBS).mkdir(parents=True)
    (out / RUNS).write_text(jobs.told(runs))
    for number, part in enumerate(jobs.parts(todo, cores=cores)):
        (out / JOBS / f"batch_{number}.json").write_text(jobs.told(part))


def tasks(out: Path = Path()) -> list[Task]:
    """All runs of the study in a directory."""
    return jobs.read((out / RUNS).read_text())


def batches(out: Path = Path()) -> dict[str, list[Task]]:
    """The runs of each job, by the name of Snakemake's rule for it."""
    return {file.stem: jobs.read(file.read_text()) for file in sorted((out / JOBS).iterdir())}
