"""The runs of one job, in one process: python -m sandglass.studies.batch RULE [measure] <TASKS

Standard input is what jobs.told says of them; directories and logs are relative to the working
directory. With `measure` that is a study's, whose metrics are tried on the first run: what cannot
be measured is known after that one, not after the last.
"""

import contextlib
import sys
import traceback
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from sandglass.errors import SandglassError
from sandglass.experiment import kernel
from sandglass.install import builds, setup_lab
from sandglass.run import runs
from sandglass.studies import jobs
from sandglass.studies.jobs import Task
from sandglass.terminal import complain, program
from sandglass.workflow.events import Event, What, tell


def done(task: Task) -> str:
    """Do a run; returns what its log says of it then. Raises SandglassError when it failed."""
    experiment = task.load()
    setup_lab.lab(kernel.wanted(experiment), experiment.packages)
    with task.file() as file:
        return runs.run(experiment, file, Path(task.directory), cached=True).told


def batch(
    rule: str,
    tasks: Sequence[Task],
    check: Callable[[Task], object] | None = None,
    do: Callable[[Task], str] = done,
) -> None:
    """Do the runs; those after a failed one too. What each says goes to its log.

    It is said again when it has ended: where jobs share no files, that log is lost.

    Args:
        rule: of the workflow, of which these are a job's parts.
        check: called with the first, where that was done.

    Raises SandglassError, which names them, when some failed, and what `check` raises.
    """
    failed = []
    with builds.settled():
        for task in tasks:
            if not _run(task, rule, do):
                failed.append(task.directory)
            elif check and task is tasks[0]:
                check(task)
    if failed:
        noun = "run" if len(failed) == 1 else "runs"
        raise SandglassError(f"{len(failed)} {noun} failed: {', '.join(failed)}")


def _run(task: Task, rule: str, do: Callable[[Task], str]) -> bool:
    """Do a run; whether it was done."""
    told = Event(What.BEGAN, task.directory, task.directory, "run", rule)
    tell(told)
    task.log.parent.mkdir(parents=True, exist_ok=True)
    with task.log.open("w") as log, contextlib.redirect_stderr(log):
        ended = _said(task, do)
    print(task.log.read_text(), end="", file=sys.stderr, flush=True)
    if ended:
        tell(replace(told, what=What.ENDED))
    else:
        tell(replace(told, what=What.FAILED, logs=[str(task.log)]))
    return ended


def _said(task: Task, do: Callable[[Task], str]) -> bool:
    """Do a run, and say so, or why it was not done."""
    try:
        print(do(task), file=sys.stderr)
    except Exception as error:  # the others go on
        if isinstance(error, SandglassError):
            complain(error.message, error.hint)
        else:
            traceback.print_exc()
        return False
    return True


def _measure(task: Task) -> None:
    """Raises SandglassError where a metric has no value in a run of the study that this is."""
    from sandglass.studies import reading, tables, targets  # noqa: PLC0415 papers need none of it

    tables.measured(reading.resolved(Path(targets.STUDY)), task)


def main(rule: str, *measure: str) -> None:
    """Do what standard input says."""
    batch(rule, jobs.read(sys.stdin.read()), _measure if measure else None)


if __name__ == "__main__":
    program(lambda: main(*sys.argv[1:]))
