"""Constant bit rate over UDP, each datagram sent at its exact time.

Options: rate (bit/s of UDP payload), packet_size (bytes of UDP payload), burst
(datagrams sent back to back). Leaves datagrams-ID.csv with, for every
datagram, when it was due and when it reached the receiver's network card.
"""

from __future__ import annotations

import csv
import socket
import struct
import threading
from typing import TYPE_CHECKING, Any

from sandglass.agent import kernel, self_check, tcp

if TYPE_CHECKING:
    from collections.abc import Callable

    from sandglass.agent import Flow
    from sandglass.agent.testbed import Lab

FIRST_PORT = 6000
SO_RCVBUFFORCE = 33  # <asm-generic/socket.h>
SECOND_NS = 1_000_000_000
GRACE_NS = 2 * SECOND_NS  # wait for what is still under way
RECEIVE_BUFFER = 64 << 20


def check(flow: Flow, lab: Lab) -> None:
    """Nothing to find out before the start: sockets need no program."""


def run(flow: Flow, lab: Lab) -> dict[str, Any]:
    """Run one flow; returns the result of stream()."""
    options = flow["options"]
    size, burst, rate = options["packet_size"], options["burst"], options["rate"]
    # Not a sum of rounded gaps: the rate holds over any length of time.
    return stream(flow, lab, size, burst, lambda sent: sent * size * 8 * SECOND_NS // rate)


def stream(
    flow: Flow, lab: Lab, size: int, burst: int, due_after: Callable[[int], int]
) -> dict[str, Any]:
    """Send datagrams of `size` bytes, `burst` at a time, when they are due; returns the result.

    `due_after` tells how long after the start, in ns, the next burst follows so many datagrams.

    Keys: start_ns, end_ns, bytes (received), datagrams_sent, datagrams_received,
    sport, dport.
    """
    port = FIRST_PORT + flow["id"]
    receiver = tcp.open_socket(flow["dst"], socket.SOCK_DGRAM)
    receiver.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, RECEIVE_BUFFER)
    receiver.setsockopt(socket.SOL_SOCKET, self_check.SO_TIMESTAMPNS, 1)
    receiver.bind((lab.network.address(flow["dst"]), port))
    offset = kernel.monotonic_to_realtime_ns() + lab.clock.zero_ns
    arrivals: dict[int, int] = {}
    threading.Thread(target=receive, args=(receiver, arrivals, offset), daemon=True).start()

    sender = tcp.open_socket(flow["src"], socket.SOCK_DGRAM)
    if flow["ecn"]:
        sender.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, 2)  # ECT(0), RFC 3168
    sender.connect((lab.network.address(flow["dst"]), port))
    end_ns = flow["start_ns"] + flow["duration_ns"]
    due: list[int] = []
    lab.sleep_until_start(flow)
    while True:
        at_ns = flow["start_ns"] + due_after(len(due))
        if at_ns >= end_ns:
            break
        lab.clock.sleep_until(at_ns)
        for _ in range(burst):
            sender.send(struct.pack("!Q", len(due)).ljust(size, b"\0"))
            due.append(at_ns)
    lab.clock.sleep_until(end_ns)
    received = sum(size for at_ns in list(arrivals.values()) if at_ns <= end_ns)
    lab.clock.sleep_until(end_ns + GRACE_NS)
    with open(f"{lab.directory}/datagrams-{flow['id']}.csv", "w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["sequence", "due_ns", "received_ns"])
        table.writerows([n, at_ns, arrivals.get(n, "")] for n, at_ns in enumerate(due))
    return {
        "start_ns": flow["start_ns"],
        "end_ns": end_ns,
        "bytes": received,
        "datagrams_sent": len(due),
        "datagrams_received": len(arrivals),
        "sport": sender.getsockname()[1],
        "dport": port,
    }


def receive(receiver: socket.socket, arrivals: dict[int, int], offset: int) -> None:
    """Note by sequence number when each datagram arrived, as the kernel stamped it."""
    while True:
        data, ancillary, _, _ = receiver.recvmsg(65536, 256)
        seconds, nanoseconds = struct.unpack("qq", ancillary[0][2][:16])
        arrivals[struct.unpack("!Q", data[:8])[0]] = seconds * SECOND_NS + nanoseconds - offset
