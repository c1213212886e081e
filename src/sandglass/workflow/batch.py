"""Many runs in one process, each with a log of its own: a process takes as long as a short run."""

import contextlib
import traceback
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path

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
        raise SandglassError(f"{len(failed)} runs failed: {', '.join(failed)}")


def _run(job: Job, rule: str) -> bool:
    """Do a run; whether it was done."""
    told = Event(What.BEGAN, job.directory, job.directory, "run", rule)
    tell(told)
    job.log.parent.mkdir(parents=True, exist_ok=True)
    with job.log.open("w") as log, contextlib.redirect_stderr(log):
        try:
            said = job.do()
        except Exception as error:  # the others go on
            if isinstance(error, SandglassError):
                complain(error.message, error.hint)
            else:
                traceback.print_exc()
            tell(replace(told, what=What.FAILED, logs=[str(job.log)]))
            return False
        print(said, file=log)
    tell(replace(told, what=What.ENDED))
    return True
