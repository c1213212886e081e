"""A media flow: packets of one size over UDP at a steady interval.

Options: packet_size (bytes of UDP payload), interval (ns). What a jitter buffer makes of them is
computed from datagrams-ID.csv, which udp leaves.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from workloads import udp
from workloads.udp import check

if TYPE_CHECKING:
    from sandglass.agent import Flow
    from sandglass.agent.testbed import Lab

__all__ = ["check", "run"]


def run(flow: Flow, lab: Lab) -> dict[str, Any]:
    """Run one flow; returns the result of udp.stream()."""
    options = flow["options"]
    return udp.stream(flow, lab, options["packet_size"], 1, lambda sent: sent * options["interval"])
