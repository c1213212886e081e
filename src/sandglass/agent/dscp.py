"""Differentiated services: the code point by which queues tell classes of packets apart."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING

from sandglass.agent.declare import TEXT, Option

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sandglass.agent.plan import Flow, Options

CODE_POINTS = {
    **{f"CS{number}": number << 3 for number in range(8)},  # RFC 2474, section 4.2.2
    **{f"AF{c}{d}": c << 3 | d << 1 for c in range(1, 5) for d in range(1, 4)},  # RFC 2597
    "EF": 46,  # RFC 3246
    "VA": 44,  # RFC 5865
    "LE": 1,  # RFC 8622
}
OPTION = Option(
    TEXT,
    "The code point of its packets in both directions, by which queues such as cake with diffserv4 "
    "tell classes apart.",
    None,
    ("EF", "AF41", "CS1", "LE"),
)
TRAFFIC_CLASS = {
    4: (socket.IPPROTO_IP, socket.IP_TOS),
    6: (socket.IPPROTO_IPV6, socket.IPV6_TCLASS),
}


def problems(options: Options) -> Iterator[tuple[str, str]]:
    """A code point that there is."""
    if options["dscp"] not in (None, *CODE_POINTS):
        known = ", ".join(CODE_POINTS)
        yield "dscp", f"there is no code point {options['dscp']}: write one of {known}"


def mark(endpoint: socket.socket, flow: Flow, ecn: int = 0) -> None:
    """Give a socket's packets the flow's code point, and of UDP's the ECN field."""
    name = flow["options"].get("dscp")  # which not all have that send by these
    if octet := (CODE_POINTS[name] << 2 if name else 0) | ecn:
        endpoint.setsockopt(*TRAFFIC_CLASS[flow["family"]], octet)
