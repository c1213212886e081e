"""Bulk transfer of full packets alone: as the workload `bulk`, with TCP_CORK.

`bulk` writes a megabyte at a time, and where the network waits for the next write the segment at
the end of one is what is left of it.
"""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING

from workloads import bulk

if TYPE_CHECKING:
    from sandglass.agent.plan import Flow, Result
    from sandglass.agent.testbed import Testbed

TCP = True

plain_endpoints = bulk.endpoints


def run(flow: Flow, testbed: Testbed) -> Result:
    """As `bulk`; no other flow of such an experiment is one of `bulk`."""
    bulk.endpoints = corked_endpoints
    return bulk.run(flow, testbed)


def corked_endpoints(
    flow: Flow, testbed: Testbed, port: int
) -> tuple[socket.socket, socket.socket]:
    """The sender's socket, which waits until a segment is full, and the receiver's."""
    sender, listener = plain_endpoints(flow, testbed, port)
    sender.setsockopt(socket.IPPROTO_TCP, socket.TCP_CORK, 1)
    return sender, listener
