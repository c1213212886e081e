"""A work on the terminal: one display that lives; without a terminal a few plain lines."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from sandglass.terminal import harmless
from sandglass.workflow.state import Count, Failure, State

EVERY_S = 0.2
"""How often it is looked whether there is something new."""
PLAIN_EVERY_S = 30
TAIL = 5
"""How many lines of a failed run's log are shown."""
MOST_SHOWN = 8
"""Of what is at work."""


class Display(Protocol):
    """Shows how far a work is."""

    def show(self) -> None:
        """Show it as it is now; called every EVERY_S."""


@contextmanager
def display(title: str, state: State, folder: Path, alone: bool = True) -> Iterator[Display]:
    """The display of a work whose logs are relative to `folder`, on standard error.

    It lives where that is a terminal, and no other work's: `alone`.
    """
    console = Console(stderr=True, highlight=False)
    if not (console.is_terminal and alone):
        yield Plain(title, state, folder)
        return
    with Live(console=console, transient=True, auto_refresh=False) as live:
        yield Lively(title, state, folder, live)


class Failures:
    """The failures that have not been shown yet, in words."""

    def __init__(self, state: State, folder: Path) -> None:
        self._state = state
        self._folder = folder
        self._shown = 0

    def new(self) -> Iterator[str]:
        """Each in a few lines: its name, the last ones of its log, and where that is."""
        fresh = self._state.failures[self._shown :]
        self._shown += len(fresh)
        for failure in fresh:
            yield "\n".join(told(failure, self._folder))


def told(failure: Failure, folder: Path) -> Iterator[str]:
    """A failure's name, the last lines of its log, and where that is."""
    yield f"failed: {failure.name}"
    for log in failure.logs:
        try:
            lines = (folder / log).read_text(errors="replace").splitlines()
        except OSError:
            lines = []
        yield from (f"    {line}" for line in [line for line in lines if line.strip()][-TAIL:])
        yield f"  see {log}"


class Lively:
    """A bar, what is at work now, and above them for good what has failed."""

    def __init__(self, title: str, state: State, folder: Path, live: Live) -> None:
        self._title = title
        self._state = state
        self._failures = Failures(state, folder)
        self._live = live

    def show(self) -> None:
        """Draw it anew."""
        for failure in self._failures.new():
            self._live.console.print(Text(harmless(failure), style="red"))
        self._live.update(self._drawn(), refresh=True)

    def _drawn(self) -> RenderableType:
        state = self._state
        if not state.of:
            return Text(f"{self._title}: looking what there is to do")
        head = Table.grid(padding=(0, 1))
        bar = ProgressBar(total=state.of, completed=state.done, width=24)
        head.add_row(Text(harmless(self._title)), bar, ", ".join(parts(state)))
        now_s = time.monotonic()
        running = list(state.running.values())
        lines = [
            Text(f"  {clock(now_s - each.since_s)}  {harmless(each.name)}") for each in running
        ]
        if len(lines) > MOST_SHOWN:
            lines[MOST_SHOWN:] = [Text(f"  and {len(lines) - MOST_SHOWN} more")]
        for line in lines:
            line.truncate(self._live.console.width, overflow="ellipsis")
        return Group(head, *lines)


class Plain:
    """A line at the start, one now and then, and each failure when it happens."""

    def __init__(self, title: str, state: State, folder: Path) -> None:
        self._title = title
        self._state = state
        self._failures = Failures(state, folder)
        self._said = Count()
        self._said_s = 0.0

    def show(self) -> None:
        """Say what is new, if it is time."""
        for failure in self._failures.new():
            print(harmless(failure), file=sys.stderr, flush=True)
        now, now_s = Count(self._state.done, self._state.of), time.monotonic()
        first = not self._said.of
        if now != self._said and (first or now_s - self._said_s > PLAIN_EVERY_S):
            self._said, self._said_s = now, now_s
            print(
                f"{harmless(self._title)}: {', '.join(parts(self._state))}",
                file=sys.stderr,
                flush=True,
            )


def parts(state: State) -> Iterator[str]:
    """How far it is, in a few words each."""
    if state.runs.of:
        yield f"{counted(state.runs)} runs"
    if state.steps.of:
        yield f"{counted(state.steps)} {'other steps' if state.runs.of else 'steps'}"
    if state.failures:
        yield f"{len(state.failures)} failed"
    rate, left_s = state.rate(), state.left_s()
    if rate is not None and left_s is not None and state.done < state.of:
        yield f"{rate:.1f}/s" if rate >= 1 else f"{60 * rate:.0f}/min"
        yield f"{clock(left_s)} left"


def counted(count: Count) -> str:
    """Such as '3 of 10'."""
    return f"{count.done} of {count.of}"


def clock(seconds: float) -> str:
    """Minutes and seconds, such as 1:05; hours before them when there are some."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
