"""What can go wrong in a run, in words for the person who started it."""

from __future__ import annotations


class RunError(Exception):
    """The run cannot go on. `hint` says what to do about it."""

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.hint = hint
