"""The experiment's clock: nanoseconds since its time zero."""

from __future__ import annotations

import time

from sandglass.agent import kernel


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
