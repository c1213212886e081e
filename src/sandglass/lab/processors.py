"""Processors, of which a lab takes one."""

import contextlib
import fcntl
import os
import time
from collections.abc import Iterator

from sandglass.terminal import note

OWN = "/sys/devices/system/cpu/cpu{}"
SHARED = f"{OWN}/topology"
"""What is locked by a processor's first lab, and by its second."""
LOOK_S = 0.02
"""Between two looks."""
TOLD_AFTER_S = 2.0
SHARED_AFTER_S = 10.0
"""A lab has waited so long when it is told of, and when it takes half of a processor."""


@contextlib.contextmanager
def taken() -> Iterator[int]:
    """The number of a processor for a lab while the block lasts; waits until there is one.

    A lab hands over between its kernel and its programs thousands of times a second. Across
    processors that costs more than the work itself, so each runs on one, alone where it can. Where
    all are taken for long, by labs that may take hours, it becomes the second on one of them. A
    third waits, since memory is taken by all at once.

    What is locked are the kernel's own directories of a processor: they are there for all users,
    and none of them can put something else in their place.
    """
    start, told = time.monotonic(), False
    while True:
        waited_s = time.monotonic() - start
        places = [OWN] if waited_s < SHARED_AFTER_S else [OWN, SHARED]
        for place in places:
            for number in sorted(os.sched_getaffinity(0), reverse=True):
                with contextlib.ExitStack() as held:
                    try:
                        descriptor = os.open(place.format(number), os.O_RDONLY | os.O_DIRECTORY)
                        held.callback(os.close, descriptor)
                        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    except BlockingIOError:
                        continue
                    except FileNotFoundError:  # a machine that does not show them: labs share
                        pass
                    yield number
                    return
        if waited_s >= TOLD_AFTER_S and not told:
            note("every processor has a lab at work: waiting until one has not, or to share one")
            told = True
        time.sleep(LOOK_S)
