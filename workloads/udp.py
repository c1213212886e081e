"""Datagrams over UDP, each sent at its exact time: at a constant rate, or as `pattern` says.

For every datagram it leaves when it was due and when it reached the receiver's network card.
"""

from __future__ import annotations

import csv
import socket
import struct
import threading
from array import array
from itertools import repeat
from typing import TYPE_CHECKING

from sandglass.agent import draws, dscp, kernel, self_check, tcp
from sandglass.agent.declare import DURATION, FLAG, RATE, TEXT, TRACE, WHOLE, Column, Option
from sandglass.agent.plan import end_ns

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from sandglass.agent.plan import Flow, Options, Result
    from sandglass.agent.testbed import Testbed

IPV6 = True
LARGEST = 65507  # bytes of payload in an IPv4 packet
OPTIONS = {
    "rate": Option(
        RATE,
        "Sending rate; counts the UDP payload alone. Needed but with pattern: trace.",
        None,
        ("5mbit",),
    ),
    "packet_size": Option(
        WHOLE,
        "UDP payload of a packet, in bytes; without it a packet has 1500, so that with family 6 "
        "these are 1452.",
        1472,
        (172,),
        least=16,
        most=LARGEST,
        default_ipv6=1452,
    ),
    "burst": Option(
        WHOLE, "Packets sent back to back; the mean rate stays.", 1, (10,), least=1, most=10000
    ),
    "pattern": Option(
        TEXT,
        "constant; poisson: the gaps between bursts are exponential, with the same mean rate; "
        "onoff: constant at `rate` while on, nothing while off; trace: when `trace` says so.",
        "constant",
        ("poisson", "onoff", "trace"),
    ),
    "trace": Option(
        TRACE,
        "With pattern trace: a burst for each of its opportunities; it begins again at its end.",
        None,
        ("wifi",),
    ),
    "on_time": Option(
        DURATION, "With onoff: mean length of the times in which it sends.", None, ("1s",)
    ),
    "off_time": Option(DURATION, "With onoff: mean length of those in which not.", None, ("1s",)),
    "ecn": Option(FLAG, "Whether the packets say that they can be marked, ECT(0).", False, (True,)),
    "l4s": Option(FLAG, "Whether they say ECT(1) instead, for L4S (RFC 9331).", False, (True,)),
    "dscp": dscp.OPTION,
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
ECT0, ECT1 = 2, 1  # RFC 3168
SECOND_NS = 1_000_000_000
GRACE_NS = 2 * SECOND_NS  # wait for what is still under way
RECEIVE_BUFFER = 64 << 20
NEVER = -1

MS = 1_000_000
PATTERNS = ("constant", "poisson", "onoff", "trace")


def problems(options: Options, lasts_ns: int) -> Iterator[tuple[str, str]]:
    """What a pattern needs, and a code point that there is."""
    yield from dscp.problems(options)
    pattern = options["pattern"]
    if pattern not in PATTERNS:
        yield "pattern", f"there is no pattern {pattern}: write one of {', '.join(PATTERNS)}"
    for key, wanted in (("on_time", "onoff"), ("off_time", "onoff"), ("trace", "trace")):
        if pattern == wanted and not options[key]:
            yield key, f"is missing: {wanted} needs it"
        elif pattern != wanted and options[key]:
            yield key, f"is for pattern: {wanted} alone"
    if pattern == "trace" and options["rate"]:
        yield "rate", "stands beside pattern: trace, which says when packets go: leave it out"
    elif pattern != "trace" and not options["rate"]:
        yield "rate", "is missing: give one, such as 5mbit"


def packets(options: Options, time_ns: int) -> int:
    """How many it sends in so long a time, but for the last, at the most that can be expected."""
    if trace := options["trace"]:
        period_ns = int(trace.rpartition(",")[2]) * MS
        return int((trace.count(",") + 1) * options["burst"] * (time_ns // period_ns + 1))
    if not options["rate"]:
        return 0
    sent: int = options["rate"] * time_ns // SECOND_NS // 8 // options["packet_size"]
    return sent


def run(flow: Flow, testbed: Testbed) -> Result:
    """Run one flow; returns the result of stream()."""
    options = flow["options"]
    return stream(flow, testbed, options["packet_size"], options["burst"], due(flow, testbed))


def due(flow: Flow, testbed: Testbed) -> Callable[[int], int]:
    """How long after the start, in ns, the burst follows before which so many datagrams were sent.

    To be asked in order. What is random comes from the seed and the flow's number.
    """
    options = flow["options"]
    size, burst, rate = options["packet_size"], options["burst"], options["rate"]

    def constant(sent: int) -> int:
        # Not a sum of rounded gaps: the rate holds over any length of time.
        return int(sent * size * 8 * SECOND_NS // rate)

    def exponential(what: str, mean_ns: float) -> int:
        return draws.exponential(testbed.plan["seed"], f"{what} of flow {flow['id']}", mean_ns)

    if options["pattern"] == "poisson":
        at_ns = 0
        mean_ns = burst * size * 8 * SECOND_NS / rate

        def poisson(sent: int) -> int:
            nonlocal at_ns
            if number := sent // burst:
                at_ns += exponential(f"gap {number}", mean_ns)
            return at_ns

        return poisson
    if options["pattern"] == "trace":
        opportunities = [int(ms) * MS for ms in options["trace"].split(",")]

        def traced(sent: int) -> int:
            rounds, number = divmod(sent // burst, len(opportunities))
            return int(rounds * opportunities[-1] + opportunities[number])

        return traced
    if options["pattern"] == "onoff":
        return on_off(options["on_time"], options["off_time"], constant, exponential)
    return constant


def on_off(
    on_ns: int,
    off_ns: int,
    constant: Callable[[int], int],
    exponential: Callable[[str, float], int],
) -> Callable[[int], int]:
    """Constant while on; each time it is on, and off, has an exponential length."""
    silent_ns, number = 0, 0
    on_until = exponential("time 0 on", on_ns)

    def after(sent: int) -> int:
        nonlocal silent_ns, number, on_until
        while constant(sent) >= on_until:
            silent_ns += exponential(f"time {number} off", off_ns)
            number += 1
            on_until += max(exponential(f"time {number} on", on_ns), 1)
        return constant(sent) + silent_ns

    return after


def stream(
    flow: Flow, testbed: Testbed, size: int, burst: int, due_after: Callable[[int], int]
) -> Result:
    """Send datagrams of `size` bytes, `burst` at a time, when they are due; returns the result.

    `due_after` tells how long after the start, in ns, the next burst follows so many datagrams.

    Keys: start_ns, end_ns, bytes (received), datagrams_sent, datagrams_received,
    sport, dport.
    """
    port = FIRST_PORT + flow["id"]
    family, address = flow["family"], testbed.network.address(flow["dst"], flow["family"])
    receiver = tcp.open_socket(flow["dst"], socket.SOCK_DGRAM, family=family)
    receiver.setsockopt(socket.SOL_SOCKET, tcp.SO_RCVBUFFORCE, RECEIVE_BUFFER)
    receiver.setsockopt(socket.SOL_SOCKET, self_check.SO_TIMESTAMPNS, 1)
    receiver.bind((address, port))
    offset = kernel.monotonic_to_realtime_ns() + testbed.clock.zero_ns
    arrivals = array("q")
    threading.Thread(target=receive, args=(receiver, arrivals, offset), daemon=True).start()

    sender = tcp.open_socket(flow["src"], socket.SOCK_DGRAM, family=family)
    l4s = flow["options"].get("l4s")  # which media, that sends by this too, does not have
    dscp.mark(sender, flow, ECT1 if l4s else ECT0 if flow["ecn"] else 0)
    sender.connect((address, port))
    ended_ns = end_ns(flow)
    # Eight bytes a datagram: millions of Python's own numbers lie in more pieces than a process
    # may have on the host (vm.max_map_count).
    due = array("q")
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
    received = size * sum(NEVER < at_ns <= ended_ns for at_ns in arrivals)
    testbed.clock.sleep_until(ended_ns + GRACE_NS)
    came = arrivals[:]  # what comes later does not count
    came.extend(repeat(NEVER, len(due) - len(came)))
    with open(f"{testbed.directory}/datagrams-{flow['id']}.csv", "w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["sequence", "due_ns", "received_ns"])
        table.writerows(
            [n, due_ns, "" if received_ns == NEVER else received_ns]
            for n, (due_ns, received_ns) in enumerate(zip(due, came, strict=True))
        )
    return {
        "start_ns": flow["start_ns"],
        "end_ns": ended_ns,
        "bytes": received,
        "datagrams_sent": len(due),
        "datagrams_received": len(came) - came.count(NEVER),
        "sport": sender.getsockname()[1],
        "dport": port,
    }


def receive(receiver: socket.socket, arrivals: array[int], offset: int) -> None:
    """Note when each datagram arrived, as the kernel stamped it; NEVER for what was left out."""
    while True:
        data, ancillary, _, _ = receiver.recvmsg(65536, 256)
        seconds, nanoseconds = struct.unpack("qq", ancillary[0][2][:16])
        sequence = struct.unpack("!Q", data[:8])[0]
        arrivals.extend(repeat(NEVER, sequence + 1 - len(arrivals)))
        arrivals[sequence] = seconds * SECOND_NS + nanoseconds - offset
