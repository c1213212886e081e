"""What a person at the terminal sees while something runs, and when it fails."""

import datetime
import os
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn

from sandglass.errors import SandglassError
from sandglass.install import builds

INTERRUPTED = 130
PROGRESS_EVERY_S = 0.2


def guarded(command: Callable[[], object]) -> NoReturn:
    """Run a command to the end of the process: one message for a failure, never a traceback.

    Who ends it from elsewhere (kill, timeout, a terminal that closes) interrupts it.
    """
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) == signal.SIG_DFL:  # nohup ignores one
            signal.signal(number, _interrupt)
    try:
        command()
        sys.exit(0)
    except SandglassError as error:
        complain(error.message, error.hint)
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    except BrokenPipeError:
        # whoever read our output has gone; nothing can be said to them
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except OSError as error:
        complain(f"{error.filename}: {error.strerror}" if error.filename else str(error))
        sys.exit(1)
    except Exception as error:
        log = builds.directory() / "logs" / "failure.log"
        log.parent.mkdir(parents=True, exist_ok=True)
        log.write_text(f"{datetime.datetime.now().isoformat()}\n{traceback.format_exc()}")
        complain(f"this should not happen: {error!r}", f"a report of it should hold {log}")
        sys.exit(1)


def _interrupt(number: int, frame: FrameType | None) -> NoReturn:
    raise KeyboardInterrupt


def complain(message: str, hint: str | None = None) -> None:
    """Say on standard error what is wrong, and what to do."""
    print(f"sandglass: {message}", file=sys.stderr)
    for line in (hint or "").splitlines():
        print(f"  {line}", file=sys.stderr)


def note(message: str) -> None:
    """Say to a person at the terminal why nothing seems to happen; silent without a terminal."""
    if sys.stderr.isatty():
        print(f"\r\033[Ksandglass: {message}", file=sys.stderr, flush=True)


@contextmanager
def progress(name: str) -> Iterator[Callable[[float, float], None]]:
    """Hands out advance(done_s, total_s), which keeps one line on the terminal; else silent."""
    shown = sys.stderr.isatty()
    last = 0.0

    def advance(done_s: float, total_s: float) -> None:
        nonlocal last
        now = time.monotonic()
        if shown and now - last > PROGRESS_EVERY_S:
            last = now
            print(f"\r\033[K{name}: {done_s:.1f} of {total_s:g} s", end="", file=sys.stderr)
            sys.stderr.flush()

    try:
        yield advance
    finally:
        if shown:
            print("\r\033[K", end="", file=sys.stderr)
