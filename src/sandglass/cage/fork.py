"""Forks of a process that a person may interrupt."""

import contextlib
import signal
import threading
from collections.abc import Iterator


@contextlib.contextmanager
def uninterrupted() -> Iterator[None]:
    """Put off what a signal raises until a process has been forked.

    Around a fork Python calls what modules have registered for it, and drops what is raised there:
    an interrupt would be lost, and with it the release of logging's lock, for which the next import
    of logging would wait for ever.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[int] = []
    before = {
        number: handler
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
        if callable(handler := signal.getsignal(number))  # what is ignored stays so in the child
    }
    for number in before:
        signal.signal(number, lambda number, _: came.append(number))
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    if came:
        signal.raise_signal(came[0])
