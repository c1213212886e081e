"""The runs of one job, in the study's directory: python -m sandglass.studies.batch NUMBER."""

import functools
import sys
import tempfile
from pathlib import Path

import yaml

from sandglass.experiment import kernel
from sandglass.install import builds, setup_lab
from sandglass.run import runs
from sandglass.studies import reading, targets, work
from sandglass.studies.tables import measured
from sandglass.studies.work import Task
from sandglass.terminal import program
from sandglass.workflow import batch as batches
from sandglass.workflow.batch import Job


def batch(number: int) -> None:
    """Do the runs. Raises SandglassError when one failed, or a metric has no value in the first."""
    study = reading.resolved(Path(targets.STUDY))
    tasks = work.batch(number)

    def check(position: int) -> None:
        # What cannot be measured is known after the first run, not after the last.
        if position == 0:
            measured(study, tasks[0])

    jobs = [Job(task.directory, task.log, functools.partial(_done, task)) for task in tasks]
    with builds.settled():
        batches.run(jobs, f"batch_{number}", check)


def _done(task: Task) -> str:
    """Do it, with the experiment as it is at this point and seed, not the file that it is of."""
    experiment = task.load()
    setup_lab.lab(kernel.wanted(experiment))
    with tempfile.TemporaryDirectory(prefix="sandglass-") as name:
        file = Path(name) / "experiment.yaml"
        file.write_text(yaml.safe_dump(task.written(), sort_keys=False, allow_unicode=True))
        return runs.run(experiment, file, Path(task.directory), cached=True).told


if __name__ == "__main__":
    program(lambda: batch(int(sys.argv[1])))
