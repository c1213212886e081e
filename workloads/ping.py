"""Round-trip times: one ICMP echo per interval, sent whether or not those before are answered.

An echo that got no answer within 10 s has no round-trip time.
"""

from __future__ import annotations

import csv
import threading
from typing import TYPE_CHECKING

from sandglass.agent import self_check
from sandglass.agent.declare import DURATION, Column, Option
from sandglass.agent.plan import end_ns

if TYPE_CHECKING:
    from sandglass.agent.plan import Flow, Result
    from sandglass.agent.testbed import Testbed

ANSWER_S = 10
IPV6 = True
OPTIONS = {"interval": Option(DURATION, "Time between two requests.", "1s", ("200ms",))}
COLUMNS = {
    "echoes": Column("Int64", "packets", "sent"),
    "answers": Column("Int64", "packets", "received"),
}
LEAVES = "rtt"
TABLES = {
    "rtt": {
        "sent_ns": Column("Int64", "ns", "when the echo was due"),
        "rtt_ns": Column("Int64", "ns", "its round-trip time; null: no answer within 10 s"),
    }
}


def run(flow: Flow, testbed: Testbed) -> Result:
    """Run one flow; returns its result. Keys: start_ns, end_ns, bytes, echoes, answers."""
    ends, family = (flow["src"], flow["dst"]), flow["family"]
    due = range(flow["start_ns"], end_ns(flow), flow["options"]["interval"])
    rtts: dict[int, int | None] = {}

    def echo(at_ns: int) -> None:
        rtts[at_ns] = self_check.ping(testbed.network, *ends, ANSWER_S, family)

    echoes = [threading.Thread(target=echo, args=(at_ns,)) for at_ns in due]
    testbed.sleep_until_start(flow)
    for at_ns, thread in zip(due, echoes, strict=True):
        testbed.clock.sleep_until(at_ns)
        thread.start()
    for thread in echoes:
        thread.join()
    with open(f"{testbed.directory}/rtt-{flow['id']}.csv", "w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["sent_ns", "rtt_ns"])
        table.writerows((at_ns, "" if rtts[at_ns] is None else rtts[at_ns]) for at_ns in due)
    return {
        "start_ns": flow["start_ns"],
        "end_ns": end_ns(flow),
        "bytes": None,
        "echoes": len(due),
        "answers": sum(rtt is not None for rtt in rtts.values()),
    }
