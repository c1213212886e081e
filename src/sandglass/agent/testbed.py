"""What a workload is given besides its flow."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sandglass.agent.clock import Clock
    from sandglass.agent.network import Network
    from sandglass.agent.plan import Flow, Plan

TIE_NS = 10_000


class Testbed:
    """What a workload may use.

    Attributes:
        plan: the plan being run.
        network: the running Network.
        clock: the experiment's Clock.
        directory: where a workload may leave files.
    """

    def __init__(
        self, plan: Plan, flows: list[Flow], network: Network, clock: Clock, directory: str
    ) -> None:
        self.plan = plan
        self.network = network
        self.clock = clock
        self.directory = directory
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

    def sleep_past_end(self, flow: Flow, end_ns: int) -> None:
        """Sleep until what a flow does after its end cannot be taken for a part of it."""
        self.clock.sleep_until(end_ns + TIE_NS * (1 + self._order[flow["id"]]))
