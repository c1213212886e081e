"""What a workload is given besides its flow."""

from __future__ import annotations

import contextlib
import errno
import os
import select
import socket
from collections import Counter
from typing import TYPE_CHECKING

from sandglass.agent import kernel, tcp
from sandglass.agent.plan import end_ns

if TYPE_CHECKING:
    from sandglass.agent.clock import Clock
    from sandglass.agent.network import Network
    from sandglass.agent.plan import Flow, Plan

TIE_NS = 10_000
SERVERS_NS = -250_000_000
"""When servers start: behind the last random numbers that are begun anew (repetition.py)."""
SHUT_DOWN = (errno.ECONNRESET, errno.ECONNABORTED)
"""What connect() says of a socket that is shut down meanwhile."""


class Testbed:
    """What a workload may use.

    Attributes:
        plan: the plan being run.
        network: the running Network.
        clock: the experiment's Clock.
        directory: where a workload may leave files.
        over: by the numbers of flows that outlast the others, what can be read from when these
            have ended.
    """

    over: dict[int, int]

    def __init__(
        self, plan: Plan, flows: list[Flow], network: Network, clock: Clock, directory: str
    ) -> None:
        self.plan = plan
        self.network = network
        self.clock = clock
        self.directory = directory
        self._ends = select.epoll()
        self._connecting: dict[int, socket.socket] = {}  # by the timer of the flow's end
        self._order: dict[int, int] = {}
        before: Counter[int] = Counter()
        for flow in flows:
            self._order[flow["id"]] = before[flow["start_ns"]]
            before[flow["start_ns"]] += 1

    def sleep_until_start(self, flow: Flow) -> None:
        """Sleep until the flow's start.

        Flows that start at one time do so TIE_NS apart, in the order of the
        experiment file: which of them the scheduler would wake first depends
        on what happened before time zero.
        """
        self.clock.sleep_until(flow["start_ns"] + TIE_NS * self._order[flow["id"]])

    def sleep_until_served(self, flow: Flow) -> int:
        """Sleep until servers start, one after the other as well; returns that time."""
        self.clock.sleep_until(SERVERS_NS + TIE_NS * self._order[flow["id"]])
        return SERVERS_NS

    def connect_at_start(self, flow: Flow, opener: socket.socket, address: tuple[str, int]) -> bool:
        """Connect a socket at the flow's start; whether it is connected before the flow's end.

        A flow without an end waits for as long as TCP tries.
        """
        with contextlib.ExitStack() as stack:
            if flow["duration_ns"] is not None:
                end = kernel.timer_at(self.clock.zero_ns + end_ns(flow))
                stack.callback(os.close, end)
                self._connecting[end] = opener
                self._ends.register(end, select.EPOLLIN)
            self.sleep_until_start(flow)
            try:
                opener.connect(address)
            except OSError as error:
                if error.errno not in (*tcp.GIVEN_UP, *SHUT_DOWN):
                    raise
                return False
        return True

    def end_connecting(self) -> None:
        """Have each flow that is not connected at its end wait no longer. Goes on for ever.

        By a thread that sleeps as long as there is none: one that woke up at each end, or a time
        limit for connect(), would move the clock.
        """
        while True:
            for end, _ in self._ends.poll():
                self._ends.unregister(end)
                self._connecting[end].shutdown(socket.SHUT_RDWR)

    def sleep_past_end(self, flow: Flow, end_ns: int) -> None:
        """Sleep until what a flow does after its end cannot be taken for a part of it."""
        self.clock.sleep_until(end_ns + TIE_NS * (1 + self._order[flow["id"]]))
