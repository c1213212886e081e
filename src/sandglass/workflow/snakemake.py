"""Snakemake at work, shown as one display; its own words go to a log."""

import fcntl
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import TextIO

from sandglass.errors import SandglassError
from sandglass.install import builds
from sandglass.terminal import INTERRUPTED, complain, harmless
from sandglass.workflow import events
from sandglass.workflow.display import EVERY_S, TAIL, Display, display
from sandglass.workflow.state import State

AGAIN_S = 3
"""After this it is interrupted again: Python loses an interrupt that comes in a destructor or while
a library catches everything."""


@dataclass(frozen=True)
class Work:
    """What Snakemake is asked for."""

    title: str
    """A word or two before the bar."""
    words: Sequence[str]
    """Snakemake's own: Snakefile, configuration, targets."""
    folder: Path
    """The directory in which it is at work."""
    log: Path
    """Where its own words go; relative to `folder`."""
    cores: int | None
    """How many jobs at once; None for all processors."""
    memory_mb: int
    """What these may need together."""
    parts: Mapping[str, int] = field(default_factory=dict)
    """How many runs the jobs of a rule tell of themselves (events.tell), in all."""
    alone: bool = True
    """Whether the terminal is this work's alone, for a display that lives."""


def snakemake(work: Work, held: TextIO | None = None) -> int:
    """Do it, and show it on standard error; returns the exit status, Snakemake's or INTERRUPTED.

    Args:
        held: what `alone` gave, where the caller has the folder already.

    Raises SandglassError when another one is at work in its folder, or must not write there.
    """
    with (
        nullcontext(held) if held else alone(work.folder) as lock,
        tempfile.NamedTemporaryFile(prefix="sandglass-") as told,
    ):
        # Snakemake's own lock stays behind when it is killed; ours ends with the last process
        # that holds it, so what was interrupted can go on.
        command = [sys.executable, "-m", "snakemake", "--nolock", "--keep-going"]
        command += ["--rerun-incomplete", "--quiet", "reason", "host", "--logger", "sandglass"]
        # The default scheduler solves an optimisation problem for each run; ours are all alike.
        command += ["--scheduler", "greedy"]
        command += ["--cores", str(work.cores or len(os.sched_getaffinity(0)))]
        command += ["--resources", f"mem_mb={work.memory_mb}", *work.words]
        environment = os.environ | {
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            "PYTHONPATH": str(builds.ROOT / "src"),
            events.PLACE: told.name,
        }
        state, reader = State(work.parts), events.Reader(Path(told.name))
        log = work.folder / work.log
        log.parent.mkdir(parents=True, exist_ok=True)
        with (
            log.open("w") as words,
            display(work.title, state, work.folder, work.alone) as shown,
            # In a group of its own, so that it and its jobs hear of an interrupt once, from us,
            # whether the whole terminal gets it (Ctrl-C) or we alone (kill, timeout).
            subprocess.Popen(
                command, cwd=work.folder, env=environment, pass_fds=[lock.fileno()],
                stdin=subprocess.DEVNULL, stdout=words, stderr=subprocess.STDOUT, process_group=0,
            ) as process,
            _tied_to_us(process),
        ):  # fmt: skip
            status = _watch(process, state, reader, shown)
        _conclude(work, state, status)
        return status


@contextmanager
def alone(folder: Path) -> Iterator[TextIO]:
    """Holds the folder for us alone, until the last process with the lock's file has ended.

    Raises SandglassError when another one is at work there, or must not write there.
    """
    own = (folder / ".snakemake").resolve()  # below results/ in the container
    try:
        own.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SandglassError(
            f"cannot write to {own.parent}: {error.strerror}",
            f"it has to belong to the user {os.getuid()}, who runs this",
        ) from None
    with (own / "sandglass.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise SandglassError(
                f"another one is at work in {folder}", "wait for its end"
            ) from None
        yield lock


def _watch(
    process: subprocess.Popen[bytes], state: State, reader: events.Reader, shown: Display
) -> int:
    """Show what goes on until it ends; an interrupt is passed on, and it ends in good order."""
    asked_s = None
    status = None
    while status is None:
        try:
            with suppress(subprocess.TimeoutExpired):
                status = process.wait(EVERY_S)
            if asked_s is None:
                for event in reader.new():
                    state.take(event)
                shown.show()
            # Nothing more is shown: what is ended is no failure.
            elif time.monotonic() - asked_s > AGAIN_S:
                _signal(process, signal.SIGINT)
                asked_s = time.monotonic()
        except KeyboardInterrupt:
            # what does not end in good order may end in another
            _signal(process, signal.SIGINT if asked_s is None else signal.SIGTERM)
            asked_s = time.monotonic()
    return status if asked_s is None else INTERRUPTED


def _signal(process: subprocess.Popen[bytes], number: signal.Signals) -> None:
    """Send a signal to the process's group, if there still is one."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, number)


@contextmanager
def _tied_to_us(process: subprocess.Popen[bytes]) -> Iterator[None]:
    """Has Ctrl-Z stop the process's group with us, go on when we do, and not outlive us."""

    def suspend(number: int, frame: FrameType | None) -> None:
        os.killpg(process.pid, signal.SIGSTOP)
        os.kill(os.getpid(), signal.SIGSTOP)
        os.killpg(process.pid, signal.SIGCONT)

    before = signal.signal(signal.SIGTSTP, suspend)
    try:
        yield
    finally:
        signal.signal(signal.SIGTSTP, before)
        if process.poll() is None:
            _signal(process, signal.SIGINT)


def _conclude(work: Work, state: State, status: int) -> None:
    """The last words of a work: how much was done, and where to look when not all was."""
    if status == 0:
        if state.of:
            print(f"{harmless(work.title)}: {state.done} of {state.of} done", file=sys.stderr)
        return
    if status == INTERRUPTED:
        complain("interrupted", "the same command goes on from here")
        return
    log = work.folder / work.log
    hint = f"Snakemake's own words are in {log}"
    if state.failures:
        names = "\n".join(f"{each.name}: {', '.join(each.logs)}" for each in state.failures)
        complain(
            f"{len(state.failures)} failed, {state.done} of {state.of} are done",
            f"{names}\n{hint}\nthe same command does what is left",
        )
        return
    lines = [line for line in log.read_text(errors="replace").splitlines() if line.strip()]
    said = "\n".join(state.errors) or "\n".join(lines[-TAIL:])
    complain(f"Snakemake could not do it:\n{said}", hint)
