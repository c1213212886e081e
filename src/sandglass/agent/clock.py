"""The experiment's clock: nanoseconds since its time zero."""

from __future__ import annotations

import time

from sandglass.agent import kernel

# Time zero of an experiment in the lab, on CLOCK_MONOTONIC. Late enough for Open vSwitch and any
# network to be built, and the same for all: what happens before it cannot shift what comes after.
ZERO_NS = 30_000_000_000


class Clock:
    """Counts from `zero_ns` on CLOCK_MONOTONIC."""

    def __init__(self, zero_ns: int) -> None:
        self.zero_ns = zero_ns

    def sleep_until(self, ns: int) -> None:
        """Sleep until `ns` after time zero."""
        kernel.sleep_until(self.zero_ns + ns)

    def now_ns(self) -> int:
        """Time since time zero. In the lab each call costs 256 ns of virtual time."""
        return time.clock_gettime_ns(time.CLOCK_MONOTONIC) - self.zero_ns
