"""The process that runs what pages ask for: it has all imports done, and one lab at a time.

It reads jobs, a line of JSON each, and answers with lines `KIND JSON`. The last one of a job is
done, refused or ended. An interrupt (SIGINT) ends a job, with its lab; without one it does nothing.

Run as a program: python -m sandglass.play.worker.
"""

import contextlib
import json
import os
import signal
import sys
from pathlib import Path
from types import FrameType
from typing import Any

from sandglass.cage import system_calls as system
from sandglass.errors import SandglassError
from sandglass.experiment import foreign
from sandglass.install import builds
from sandglass.play import turns
from sandglass.records import evaluation  # noqa: F401 what the first run would import at its end
from sandglass.terminal import from_here, harmless

busy = False
"""Whether an interrupt is for the job."""


def main() -> None:
    """Answer jobs until there are no more."""
    system.prctl(system.PR_SET_PDEATHSIG, signal.SIGKILL)  # and a lab ends with us
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what is printed must not come between answers
    signal.signal(signal.SIGINT, _interrupt)

    def say(kind: str, told: Any) -> None:
        answers.write(f"{kind} {json.dumps(told, separators=(',', ':'))}\n")
        answers.flush()

    # A stranger's topology is asked by one process, and the lab is looked up once.
    with foreign.kept(), builds.settled():
        say("ready", None)
        for line in sys.stdin:
            _answer(json.loads(line), say)


def _interrupt(_signal: int, _frame: FrameType | None) -> None:
    if busy:
        raise KeyboardInterrupt


def _answer(job: dict[str, Any], say: turns.Say) -> None:
    """Do a job, and say how it ended."""
    global busy  # noqa: PLW0603
    last: tuple[str, Any] = ("ended", None)

    def keep(kind: str, told: Any) -> None:
        nonlocal last
        if kind == "done":
            last = (kind, told)
        else:
            say(kind, told)

    try:
        busy = True
        try:
            _do(job, keep)
        finally:
            busy = False
    except KeyboardInterrupt:
        last = ("ended", None)
    except SandglassError as error:
        parts = [error.message, *filter(None, [error.hint])]
        last = ("refused", from_here(harmless("\n".join(parts))))
    except Exception as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr, flush=True)
        last = ("refused", "this should not happen: the terminal says more")
        with contextlib.suppress(Exception):
            sys.excepthook(type(error), error, error.__traceback__)
    say(*last)


def _do(job: dict[str, Any], say: turns.Say) -> None:
    file, settings = _here(Path(job["file"])), job["settings"]
    if job["do"] == "open":
        say("done", turns.opened(file))
    elif job["do"] == "write":
        say("done", {"yaml": turns.written(file, settings)})
    else:
        turns.turned(file, settings, Path(job["out"]), say)


def _here(file: Path) -> Path:
    """A file as one types it here, which is how messages name it."""
    return file.relative_to(Path.cwd()) if file.is_relative_to(Path.cwd()) else file


if __name__ == "__main__":
    main()
