"""What can go wrong in a run, in words for the person who started it."""

from __future__ import annotations


class RunError(Exception):
    """The run cannot go on. `hint` says what to do about it."""

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.hint = hint


class UnfinishedError(Exception):
    """A flow cannot do all that it was to do, as nobody answers: a result, and no failure.

    `why` is a word or two for the tables; `received` is how many bytes came, where that is known.
    """

    def __init__(self, why: str, received: int | None = None) -> None:
        super().__init__(why)
        self.why, self.received = why, received
