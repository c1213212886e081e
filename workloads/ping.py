"""Round-trip times: one ICMP echo per interval.

An echo that got no answer within 10 s has no round-trip time.
"""

from __future__ import annotations

import csv
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
    rows = []
    ends, family = (flow["src"], flow["dst"]), flow["family"]
    at_ns = flow["start_ns"]
    testbed.sleep_until_start(flow)
    while at_ns < end_ns(flow):
        testbed.clock.sleep_until(at_ns)
        rows.append((at_ns, self_check.ping(testbed.network, *ends, ANSWER_S, family)))
        at_ns += flow["options"]["interval"]
    with open(f"{testbed.directory}/rtt-{flow['id']}.csv", "w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["sent_ns", "rtt_ns"])
        table.writerows((at_ns, "" if rtt is None else rtt) for at_ns, rtt in rows)
    return {
        "start_ns": flow["start_ns"],
        "end_ns": end_ns(flow),
        "bytes": None,
        "echoes": len(rows),
        "answers": sum(rtt is not None for _, rtt in rows),
    }
