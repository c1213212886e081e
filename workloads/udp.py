"""Constant bit rate over UDP, each datagram sent at its exact time.

For every datagram it leaves when it was due and when it reached the receiver's network card.
"""

from __future__ import annotations

import csv
import socket
import struct
import threading
from typing import TYPE_CHECKING

from sandglass.agent import kernel, self_check, tcp
from sandglass.agent.declare import FLAG, RATE, WHOLE, Column, Option
from sandglass.agent.plan import end_ns

if TYPE_CHECKING:
    from collections.abc import Callable

    from sandglass.agent.plan import Flow, Options, Result
    from sandglass.agent.testbed import Testbed

LARGEST = 65507  # bytes of payload in an IPv4 packet
OPTIONS = {
    "rate": Option(RATE, "Sending rate; counts the UDP payload alone.", examples=("5mbit",)),
    "packet_size": Option(
        WHOLE, "UDP payload of a packet, in bytes.", 1472, (172,), least=16, most=LARGEST
    ),
    "burst": Option(
        WHOLE, "Packets sent back to back; the mean rate stays.", 1, (10,), least=1, most=10000
    ),
    "ecn": Option(FLAG, "Whether the packets say that they can be marked, ECT(0).", False, (True,)),
}
COLUMNS = {
    "datagrams_sent": Column("Int64", "packets", "sent"),
    "datagrams_received": Column("Int64", "packets", "received until 2 s after its end"),
}
LEAVES = "datagrams"
TABLES = {
    "datagrams": {
        "sequence": Column("Int64", "", "number, from 0"),
        "due_ns": Column("Int64", "ns", "when it was to be sent; it is, within 2 us"),
        "received_ns": Column(
            "Int64", "ns", "when it reached the receiver's network card; null: never"
        ),
    }
}

FIRST_PORT = 6000
SO_RCVBUFFORCE = 33  # <asm-generic/socket.h>
SECOND_NS = 1_000_000_000
GRACE_NS = 2 * SECOND_NS  # wait for what is still under way
RECEIVE_BUFFER = 64 << 20


def packets(options: Options, time_ns: int) -> int:
    """How many it sends in so long a time, but for the last."""
    sent: int = options["rate"] * time_ns // SECOND_NS // 8 // options["packet_size"]
    return sent


def run(flow: Flow, testbed: Testbed) -> Result:
    """Run one flow; returns the result of stream()."""
    options = flow["options"]
    size, burst, rate = options["packet_size"], options["burst"], options["rate"]
    # Not a sum of rounded gaps: the rate holds over any length of time.
    return stream(flow, testbed, size, burst, lambda sent: sent * size * 8 * SECOND_NS // rate)


def stream(
    flow: Flow, testbed: Testbed, size: int, burst: int, due_after: Callable[[int], int]
) -> Result:
    """Send datagrams of `size` bytes, `burst` at a time, when they are due; returns the result.

    `due_after` tells how long after the start, in ns, the next burst follows so many datagrams.

    Keys: start_ns, end_ns, bytes (received), datagrams_sent, datagrams_received,
    sport, dport.
    """
    port = FIRST_PORT + flow["id"]
    receiver = tcp.open_socket(flow["dst"], socket.SOCK_DGRAM)
    receiver.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, RECEIVE_BUFFER)
    receiver.setsockopt(socket.SOL_SOCKET, self_check.SO_TIMESTAMPNS, 1)
    receiver.bind((testbed.network.address(flow["dst"]), port))
    offset = kernel.monotonic_to_realtime_ns() + testbed.clock.zero_ns
    arrivals: dict[int, int] = {}
    threading.Thread(target=receive, args=(receiver, arrivals, offset), daemon=True).start()

    sender = tcp.open_socket(flow["src"], socket.SOCK_DGRAM)
    if flow["ecn"]:
        sender.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, 2)  # ECT(0), RFC 3168
    sender.connect((testbed.network.address(flow["dst"]), port))
    ended_ns = end_ns(flow)
    due: list[int] = []
    testbed.sleep_until_start(flow)
    while True:
        at_ns = flow["start_ns"] + due_after(len(due))
        if at_ns >= ended_ns:
            break
        testbed.clock.sleep_until(at_ns)
        for _ in range(burst):
            sender.send(struct.pack("!Q", len(due)).ljust(size, b"\0"))
            due.append(at_ns)
    testbed.clock.sleep_until(ended_ns)
    received = sum(size for at_ns in list(arrivals.values()) if at_ns <= ended_ns)
    testbed.clock.sleep_until(ended_ns + GRACE_NS)
    with open(f"{testbed.directory}/datagrams-{flow['id']}.csv", "w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["sequence", "due_ns", "received_ns"])
        table.writerows([n, at_ns, arrivals.get(n, "")] for n, at_ns in enumerate(due))
    return {
        "start_ns": flow["start_ns"],
        "end_ns": ended_ns,
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
