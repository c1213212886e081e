"""What a person at the terminal sees while something runs, and when it fails."""

import atexit
import contextlib
import datetime
import errno
import os
import re
import shlex
import shutil
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any, NoReturn

from sandglass.errors import SandglassError
from sandglass.install import builds, extras

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.text import Text

INTERRUPTED = 130
PROGRESS_EVERY_S = 0.2
WIDEST = 1000
"""Columns; no table's longest words take more."""
UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
"""What acts on a terminal instead of being seen: control characters but for line feed and tab, and
those that turn the direction of writing; and halves of characters, which cannot be written."""


def harmless(text: str) -> str:
    """A text of a file or a program as a terminal may have it.

    What would move its cursor, colour it or answer for it stands there as an escape, such as
    \\x1b.
    """
    return UNSEEN.sub(lambda found: ascii(found[0])[1:-1], text.replace("\r\n", "\n"))


def say(text: str) -> None:
    """Print what may hold a text of a file or a program, or commands to go on with.

    It is seen at once, also in a pipe: what serves a page says where, and goes on.
    """
    print(from_here(harmless(text)), flush=True)


def put(*parts: "RenderableType", stderr: bool = False) -> None:
    """Print tables and texts of Rich's: nothing in them is markup, and no word is ever cut.

    A table that the terminal is too narrow for is as wide as it has to be: the lines break.
    """
    from rich.console import Console  # noqa: PLC0415 as most commands need none
    from rich.measure import Measurement  # noqa: PLC0415 likewise
    from rich.table import Table  # noqa: PLC0415 likewise

    class Plain(Console):
        """Shows what would act on the terminal."""

        def render_str(self, text: str, **how: Any) -> "Text":
            return super().render_str(harmless(text), **how)

    def console(width: int | None) -> Console:
        return Plain(stderr=stderr, width=width, markup=False, emoji=False, highlight=False)

    usual = console(None)
    for part in parts:
        wide = usual.options.update(width=WIDEST)
        found = Measurement.get(usual, wide, part)
        whole = isinstance(part, Table) and all(column.no_wrap for column in part.columns)
        least = found.maximum if whole else found.minimum
        console(max(usual.width, least)).print(part)


def from_here(text: str) -> str:
    """A text in which commands of ours, `./sandglass …`, are as one types them here."""
    return text.replace("./sandglass ", f"{_program()} ")


def _program() -> str:
    found = shutil.which("sandglass")
    if builds.INSTALLED:
        own = Path(sys.prefix) / "bin" / "sandglass"
        if found and Path(found).resolve() == own.resolve():
            return "sandglass"
        return shlex.quote(str(own)) if own.is_file() else f"{sys.executable} -m sandglass"
    ours = builds.ROOT / "sandglass"
    if builds.ROOT.samefile("."):
        return "./sandglass"
    return "sandglass" if found and Path(found).resolve() == ours else shlex.quote(str(ours))


def shown(path: Path) -> str:
    """A path as one types it here: relative where it is below the working directory, and quoted."""
    below = path.is_relative_to(Path.cwd())
    return shlex.quote(str(path.relative_to(Path.cwd()) if below else path))


def guarded(command: Callable[[], object]) -> NoReturn:
    """Run a command to the end of the process: one message for a failure, never a traceback.

    Who ends it from elsewhere (kill, timeout, a terminal that closes) interrupts it.
    """
    if signal.getsignal(signal.SIGINT) == signal.SIG_DFL:  # while it started
        signal.signal(signal.SIGINT, signal.default_int_handler)
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) == signal.SIG_DFL:  # nohup ignores one
            signal.signal(number, _interrupt)
    try:
        try:
            command()
        finally:
            sys.stdout.flush()  # what cannot be written is a failure, and told as one
        sys.exit(0)
    except SandglassError as error:
        complain(error.message, error.hint)
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        complain("interrupted")
        sys.exit(INTERRUPTED)
    except BrokenPipeError:
        # whoever read our output has gone; nothing can be said to them
        _write_no_more()
        sys.exit(1)
    except OSError as error:
        if error.filename:
            complain(f"{error.filename}: {error.strerror}")
        else:
            complain(_unnamed(error))
            _write_no_more()
        sys.exit(1)
    except Exception as error:
        if wanted := extras.wanted(error):
            complain(wanted.message, wanted.hint)
            sys.exit(wanted.exit_code)
        log = builds.directory() / "logs" / "failure.log"
        log.parent.mkdir(parents=True, exist_ok=True)
        log.write_text(f"{datetime.datetime.now().isoformat()}\n{traceback.format_exc()}")
        complain(f"this should not happen: {error!r}", f"a report of it should hold {log}")
        sys.exit(1)


def program(command: Callable[[], object]) -> NoReturn:
    """Run the command that a process is for, as `guarded` does, and end the process at once.

    To take modules and their objects apart is a tenth of a second. No thread of ours has to end.
    """
    try:
        guarded(command)
    except SystemExit as end:
        if isinstance(end.code, str):  # Python says it
            raise
        status = end.code or 0
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):  # closed, or nobody reads: it is told by now
            stream.flush()
    os._exit(status)


def _unnamed(error: OSError) -> str:
    """What is said of a failure that names no file: without the number, which helps nobody."""
    if error.errno == errno.ENOSPC:
        return "a disk is full: the output's, or that of the directory for temporary files"
    return error.strerror or str(error)


def _write_no_more() -> None:
    """Throw away what is still to be printed: it would fail again as Python ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _interrupt(number: int, frame: FrameType | None) -> NoReturn:
    raise KeyboardInterrupt


def complain(message: str, hint: str | None = None) -> None:
    """Say on standard error what is wrong, and what to do."""
    print(f"sandglass: {harmless(message)}", file=sys.stderr)
    for line in from_here(harmless(hint or "")).splitlines():
        print(f"  {line}", file=sys.stderr)


def note(message: str) -> None:
    """Say to a person at the terminal why nothing seems to happen; silent without a terminal."""
    if sys.stderr.isatty():
        print(f"\r\033[Ksandglass: {harmless(message)}", file=sys.stderr, flush=True)


@contextlib.contextmanager
def progress(name: str) -> Iterator[Callable[[float, float], None]]:
    """Hands out advance(done_s, total_s), which keeps one line on the terminal; else silent."""
    shown = sys.stderr.isatty()
    name = harmless(name)
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
