"""One run of a plan's flows, from new queues and new random numbers."""

from __future__ import annotations

import os
import signal
import threading
import traceback
from typing import TYPE_CHECKING, Any

from sandglass.agent import draws, kernel, tcp
from sandglass.agent.failure import RunError, UnfinishedError
from sandglass.agent.testbed import Testbed

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import ModuleType

    from sandglass.agent.clock import Clock
    from sandglass.agent.network import Network
    from sandglass.agent.plan import Flow, Plan, PlannedFlow

SECOND_NS = 1_000_000_000
LEAD_NS = 2 * SECOND_NS  # before time zero; from here on a repetition has the network for itself
RENEWAL_NS = -SECOND_NS
STEP_NS = 10_000_000
LAST_DRAWS_NS = -SECOND_NS // 2
# TCP gives a connection up after a quarter of an hour without an answer; what still goes on then
# waits for something that will not come.
LONGEST_WAIT_S = 2000
NOT_ENDED = "not ended"
"""Why such a flow is unfinished."""


class TimeIsUpError(RunError):
    """The flows have had more time than any could need."""


def time_is_up(number: int, frame: object) -> None:
    """Handles the alarm: what the main thread waits for will not happen."""
    raise TimeIsUpError(f"the experiment goes on {LONGEST_WAIT_S} s after its end")


class FlowThread(threading.Thread):
    """One flow: its workload's run(flow, testbed), the result or the error it ended with."""

    def __init__(self, flow: Flow, testbed: Testbed, workload: ModuleType) -> None:
        super().__init__(name=f"flow{flow['id']}", daemon=True)
        self.flow, self.testbed, self.workload = flow, testbed, workload
        self.result: dict[str, Any] = {}
        self.error: RunError | None = None
        self.outlasts = hasattr(workload, "outlasts") and bool(workload.outlasts(flow))

    def run(self) -> None:
        try:
            self.result = self.workload.run(self.flow, self.testbed)
        except RunError as error:
            self.error = RunError(f"flow {self.flow['id']}: {error}", error.hint)
        except UnfinishedError as error:
            self.end_unfinished(self.testbed.clock.now_ns(), error)
        except Exception as error:
            if isinstance(error, OSError) and error.errno in tcp.GIVEN_UP:
                self.end_unfinished(self.testbed.clock.now_ns(), UnfinishedError(tcp.TIMED_OUT))
                return
            traceback.print_exc()
            self.error = RunError(
                f"flow {self.flow['id']} ({self.flow['workload']}): {error!r}",
                "See the console log.",
            )

    def end_unfinished(self, ended_ns: int, error: UnfinishedError) -> None:
        """Have as a result that there is none, and why."""
        self.result = {
            "start_ns": self.flow["start_ns"],
            "end_ns": ended_ns,
            "bytes": error.received,
            "unfinished": error.why,
        }


class Repetition:
    """The plan's flows with what `seed` draws, each in a thread of its own.

    Attributes:
        threads: a FlowThread for each flow of the plan, in order.
    """

    def __init__(
        self,
        plan: Plan,
        network: Network,
        clock: Clock,
        seed: int,
        directory: str,
        workloads: Mapping[str, ModuleType],
    ) -> None:
        self.network, self.clock, self.seed = network, clock, seed
        self.duration_ns, self.again = plan["duration_ns"], plan["repeat"] > 1
        self._time_is_up = False
        flows = [
            drawn(flow, workloads[flow["workload"]], seed, plan["duration_ns"])
            for flow in plan["flows"]
        ]
        self.testbed = Testbed(plan, flows, network, clock, directory)
        self.threads = [
            FlowThread(flow, self.testbed, workloads[flow["workload"]]) for flow in flows
        ]
        self._lasting = [thread for thread in self.threads if thread.outlasts]
        self.testbed.over = {thread.flow["id"]: os.eventfd(0) for thread in self._lasting}

    def prepare(self) -> None:
        """Start the flows' threads, and bring queues and random numbers into their first state.

        Ends half a second before time zero. One namespace after the other, at fixed times: which
        of two processes comes first may depend on what was before, and with it what a queue draws.
        """
        # An alarm, and no time limit for each thread: reading the clock moves it.
        signal.signal(signal.SIGALRM, time_is_up)
        signal.alarm(self.duration_ns // SECOND_NS + LONGEST_WAIT_S)
        if any(thread.flow["duration_ns"] is not None for thread in self.threads):
            threading.Thread(target=self.testbed.end_connecting, daemon=True).start()
        for thread in self.threads:
            thread.start()
        at = RENEWAL_NS
        self.clock.sleep_until(at)
        kernel.restart_random(self.seed)
        renewal = self.network.renewal(self.seed, self.clock.zero_ns)
        step_ns = min(STEP_NS, (LAST_DRAWS_NS - RENEWAL_NS) // (1 + len(renewal)))
        for where, lines in renewal.items():
            self.network.tc[where].write(lines)
            at += step_ns
            self.clock.sleep_until(at)
            self.network.tc[where].check()
        self.clock.sleep_until(LAST_DRAWS_NS)
        kernel.restart_random(self.seed)

    def results(self) -> list[dict[str, Any]]:
        """Wait for the flows to end; returns what became of each.

        One that has no end of its own and never comes to it is unfinished, and goes on; unless its
        ports are needed for another repetition. Those that outlast the others end last.

        Raises:
            RunError: of the first flow that failed, or that does not end when it has to. Of those
                that outlast the others before these, which may have failed for that.
        """
        for thread in sorted(self.threads, key=lambda thread: thread.outlasts):
            if thread.outlasts:
                os.eventfd_write(self.testbed.over[thread.flow["id"]], 1)
            try:
                if not self._time_is_up:
                    thread.join()
            except TimeIsUpError:
                self._time_is_up = True
            # Not is_alive(): of a thread whose join() was broken off Python says that it is not.
            if not (thread.result or thread.error):
                if thread.flow["duration_ns"] is not None or self.again:
                    raise RunError(
                        f"flow {thread.flow['id']} goes on {LONGEST_WAIT_S} s after the experiment",
                        "One end of its connection may have given up while the other still waits.",
                    )
                ended_ns = self.duration_ns + LONGEST_WAIT_S * SECOND_NS
                thread.end_unfinished(ended_ns, UnfinishedError(NOT_ENDED))
            if thread.error:
                raise next((each.error for each in self._lasting if each.error), thread.error)
        return [thread.result for thread in self.threads]


def drawn(flow: PlannedFlow, workload: ModuleType, seed: int, end_ns: int) -> Flow:
    """A flow with what it draws; one that lasts to the end of the experiment still does."""
    delay = draws.uniform(seed, f"start of flow {flow['id']}", flow["start_within_ns"])
    start_ns = flow["start_ns"] + delay
    duration_ns = flow["duration_ns"] and min(flow["duration_ns"], end_ns - start_ns)
    of_flow = f"of flow {flow['id']}"
    planned = flow["size_bytes"]
    size = None if planned is None else draws.size(seed, f"size {of_flow}", planned)
    options = flow["options"]
    if hasattr(workload, "drawn"):
        options = workload.drawn(
            options, lambda what, each: draws.size(seed, f"{what} {of_flow}", each)
        )
    return {
        "id": flow["id"],
        "workload": flow["workload"],
        "src": flow["src"],
        "dst": flow["dst"],
        "family": flow["family"],
        "cc": flow["cc"],
        "ecn": flow["ecn"],
        "start_ns": start_ns,
        "start_within_ns": flow["start_within_ns"],
        "duration_ns": duration_ns,
        "size_bytes": size,
        "options": options,
    }
