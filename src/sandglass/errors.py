"""The two kinds of failure a user can meet, and the exit codes that stand for them."""

import difflib
from collections.abc import Iterable


class SandglassError(Exception):
    """A run or a step that failed: `message` says what is wrong and where, `hint` what to do."""

    exit_code = 1

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class UsageError(SandglassError):
    """A command line or an experiment file that asks for something impossible."""

    exit_code = 2


def nearest(name: str, known: Iterable[str]) -> str:
    """How a sentence about an unknown name ends: with the known one that resembles it, if any."""
    near = difflib.get_close_matches(name, sorted(known), 1)
    return f", did you mean '{near[0]}'?" if near else "."
