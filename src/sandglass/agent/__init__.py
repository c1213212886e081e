"""The part of Sandglass that runs beside the experiment: in the lab, or on the host backend.

It builds the network of a plan, checks it, records, runs the workloads and
writes what it saw. Only Mininet and the standard library are imported here,
because their start-up is paid in every run.
"""

from typing import Any

Plan = dict[str, Any]  # plan.json, as sandglass.run.plan writes it
Flow = dict[str, Any]  # one of its flows


def base_rtt_ns(plan: Plan, source: str, destination: str) -> int:
    """The round trip that a plan gives two hosts, without transmission and queues, in ns."""
    hosts = plan["hosts"]
    rtt: int = hosts[source]["half_rtt_ns"] + hosts[destination]["half_rtt_ns"]
    return rtt
