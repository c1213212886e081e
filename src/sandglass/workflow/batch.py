"""Many runs in one process, each with a log of its own: a process takes as long as a short run."""

import contextlib
import sys
import traceback
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TextIO

from sandglass.errors import SandglassError
from sandglass.terminal import complain
from sandglass.workflow.events import Event, What, tell


@dataclass(frozen=True)
class Job:
    """One run of a batch. Paths are relative to the work's folder."""

    directory: str
    log: Path
    do: Callable[[], str]
    """Does it; returns what its log says of it then."""


def run(jobs: Iterable[Job], rule: str, then: Callable[[int], None] | None = None) -> None:
    """Do the runs; those after a failed one too. What each says goes to its log.

    It is said again when it has ended: where jobs share no files, that log is lost.

    Args:
        rule: of the workflow, of which these are a job's parts.
        then: called with the number of each that was done, from 0.

    Raises SandglassError, which names them, when some failed, and what `then` raises.
    """
    failed = []
    for number, job in enumerate(jobs):
        if not _run(job, rule):
            failed.append(job.directory)
        elif then:
            then(number)
    if failed:
        noun = "run" if len(failed) == 1 else "runs"
        raise SandglassError(f"{len(failed)} {noun} failed: {', '.join(failed)}")


def _run(job: Job, rule: str) -> bool:
    """Do a run; whether it was done."""
    told = Event(What.BEGAN, job.directory, job.directory, "run", rule)
    tell(told)
    job.log.parent.mkdir(parents=True, exist_ok=True)
    with job.log.open("w") as log, contextlib.redirect_stderr(log):
        done = _said(job, log)
    print(job.log.read_text(), end="", file=sys.stderr, flush=True)
    if done:
        tell(replace(told, what=What.ENDED))
    else:
        tell(replace(told, what=What.FAILED, logs=[str(job.log)]))
    return done


def _said(job: Job, log: TextIO) -> bool:
    """Do a run, and say so in its log, or why it was not done."""
    try:
        print(job.do(), file=log)
    except Exception as error:  # the others go on
        if isinstance(error, SandglassError):
            complain(error.message, error.hint)
        else:
            traceback.print_exc()
        return False
    return True
