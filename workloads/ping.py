"""Round-trip times: one ICMP echo per interval.

Option: interval (ns). Leaves rtt-ID.csv; an echo that got no answer within 10 s
has an empty round-trip time.
"""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING, Any

from sandglass.agent import self_check

if TYPE_CHECKING:
    from sandglass.agent import Flow
    from sandglass.agent.testbed import Lab

ANSWER_S = 10


def check(flow: Flow, lab: Lab) -> None:
    """Nothing to find out before the start: sockets need no program."""


def run(flow: Flow, lab: Lab) -> dict[str, Any]:
    """Run one flow; returns its result. Keys: start_ns, end_ns, bytes, echoes, answers."""
    end_ns = flow["start_ns"] + flow["duration_ns"]
    rows = []
    at_ns = flow["start_ns"]
    lab.sleep_until_start(flow)
    while at_ns < end_ns:
        lab.clock.sleep_until(at_ns)
        rows.append((at_ns, self_check.ping(lab.network, flow["src"], flow["dst"], ANSWER_S)))
        at_ns += flow["options"]["interval"]
    with open(f"{lab.directory}/rtt-{flow['id']}.csv", "w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["sent_ns", "rtt_ns"])
        table.writerows((at_ns, "" if rtt is None else rtt) for at_ns, rtt in rows)
    return {
        "start_ns": flow["start_ns"],
        "end_ns": end_ns,
        "bytes": None,
        "echoes": len(rows),
        "answers": sum(rtt is not None for _, rtt in rows),
    }
