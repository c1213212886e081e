"""The runs of one job, in the study's directory: python -m sandglass.studies.batch NUMBER."""

import contextlib
import sys
import tempfile
import traceback
from dataclasses import replace
from pathlib import Path

import yaml

from sandglass.errors import SandglassError
from sandglass.install import builds
from sandglass.run import runs as running
from sandglass.run.runs import RunResult
from sandglass.studies import reading, targets, work
from sandglass.studies.tables import measured
from sandglass.studies.work import Task
from sandglass.terminal import complain, guarded
from sandglass.workflow.events import Event, What, tell


def batch(number: int) -> None:
    """Do the runs, each with a log of its own; those after a failed one too.

    Raises SandglassError when one failed, or a metric has no value in the first.
    """
    study = reading.resolved(Path(targets.STUDY))
    failed = []
    with builds.settled():
        for position, task in enumerate(work.batch(number)):
            if not _run(task, f"batch_{number}"):
                failed.append(task.directory)
            elif position == 0:
                # What cannot be measured is known after the first run, not after the last.
                measured(study, task)
    if failed:
        raise SandglassError(f"{len(failed)} runs failed: {', '.join(failed)}")


def _run(task: Task, job: str) -> bool:
    """Do a run; whether it was done. What it says goes to its log."""
    told = Event(What.BEGAN, task.directory, task.directory, "run", job)
    tell(told)
    task.log.parent.mkdir(parents=True, exist_ok=True)
    with task.log.open("w") as log, contextlib.redirect_stderr(log):
        try:
            done = _done(task)
        except Exception as error:  # the others go on
            if isinstance(error, SandglassError):
                complain(error.message, error.hint)
            else:
                traceback.print_exc()
            tell(replace(told, what=What.FAILED, logs=[str(task.log)]))
            return False
        origin = " from the cache" if done.cached else ""
        print(f"{task.directory}:{origin} digest {done.content['digest']}", file=log)
    tell(replace(told, what=What.ENDED))
    return True


def _done(task: Task) -> RunResult:
    """Do it, with the experiment as it is at this point and seed, not the file that it is of."""
    experiment = task.load()
    with tempfile.TemporaryDirectory(prefix="sandglass-") as name:
        file = Path(name) / "experiment.yaml"
        file.write_text(yaml.safe_dump(task.written(), sort_keys=False, allow_unicode=True))
        return running.run(experiment, file, Path(task.directory), cached=True)


if __name__ == "__main__":
    guarded(lambda: batch(int(sys.argv[1])))
