"""Round-trip times: one ICMP echo per interval.

Each is sent when it is due, whether or not those before are answered. One that got no answer within
10 s has no round-trip time.
"""

from __future__ import annotations

import contextlib
import csv
import socket
import struct
import time
from typing import TYPE_CHECKING

from sandglass.agent import kernel, self_check, tcp
from sandglass.agent.declare import DURATION, Column, Option
from sandglass.agent.plan import end_ns

if TYPE_CHECKING:
    from typing import Self

    from sandglass.agent.plan import Flow, Result
    from sandglass.agent.testbed import Testbed

SECOND_NS = 1_000_000_000
ANSWER_NS = 10 * SECOND_NS
PAYLOAD = 56  # bytes, as the program ping sends
NUMBER = struct.Struct("!Q")
KEPT = 1000  # answers wait in the socket's buffer for so many echoes at the most
RECEIVE_BUFFER = 64 << 20
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
    due = range(flow["start_ns"], end_ns(flow), flow["options"]["interval"])
    with Echoes(flow, testbed) as echoes:
        testbed.sleep_until_start(flow)
        for at_ns in due:
            testbed.clock.sleep_until(at_ns)
            echoes.send()
        echoes.wait()
    rtts = [echoes.rtts.get(number) for number in range(len(due))]
    with open(f"{testbed.directory}/rtt-{flow['id']}.csv", "w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["sent_ns", "rtt_ns"])
        table.writerows(
            (at_ns, "" if rtt is None else rtt) for at_ns, rtt in zip(due, rtts, strict=True)
        )
    return {
        "start_ns": flow["start_ns"],
        "end_ns": end_ns(flow),
        "bytes": None,
        "echoes": len(due),
        "answers": len(echoes.rtts),
    }


class Echoes:
    """The echoes of one flow, all by one socket. The kernel stamps the answers as they come.

    Attributes:
        rtts: round-trip times in ns by the echo's number, of those that were answered in time.
    """

    def __init__(self, flow: Flow, testbed: Testbed) -> None:
        self.family, self.identifier = flow["family"], flow["id"] & 0xFFFF
        self.address = testbed.network.address(flow["dst"], self.family)
        protocol = self_check.PROTOCOL[self.family]
        self.socket = tcp.open_socket(flow["src"], socket.SOCK_RAW, protocol, self.family)
        self.socket.setsockopt(socket.SOL_SOCKET, tcp.SO_RCVBUFFORCE, RECEIVE_BUFFER)
        self.socket.setsockopt(socket.SOL_SOCKET, self_check.SO_TIMESTAMPNS, 1)
        self.offset = kernel.monotonic_to_realtime_ns()
        self.sent: list[int] = []
        self.rtts: dict[int, int] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.socket.close()

    def send(self) -> None:
        """Send the next one."""
        if len(self.sent) % KEPT == KEPT - 1:
            self._take(at_once=True)
        request = self._request(len(self.sent))
        self.sent.append(self._now_ns())
        # Not connected: that would draw the packet's identification from the random numbers.
        self.socket.sendto(request, (self.address, 0))

    def wait(self) -> None:
        """Wait for the answers that are out, each as long as it may take."""
        while len(self.rtts) < len(self.sent):
            left_ns = self.sent[-1] + ANSWER_NS - self._now_ns()
            if left_ns <= 0:
                break
            self.socket.settimeout(left_ns / 1e9)
            self._take(at_once=False)

    def _take(self, *, at_once: bool) -> None:
        """Take the next answer, or `at_once` all that are there."""
        with contextlib.suppress(TimeoutError, BlockingIOError):
            while True:
                flags = socket.MSG_DONTWAIT if at_once else 0
                packet, ancillary, _, (sender, *_) = self.socket.recvmsg(2048, 256, flags)
                seconds, nanoseconds = struct.unpack("qq", ancillary[0][2][:16])
                number = self_check.payload_of(packet, self.family)[: NUMBER.size]
                if sender == self.address and len(number) == NUMBER.size:
                    (counted,) = NUMBER.unpack(number)
                    self._note(packet, counted, seconds * SECOND_NS + nanoseconds)
                if not at_once:
                    return

    def _note(self, packet: bytes, number: int, at_ns: int) -> None:
        # A host hands every ICMP packet to every socket like this one, also those of other echoes.
        if number < len(self.sent) and self_check.is_answer(
            packet, self._request(number), self.family
        ):
            rtt = at_ns - self.sent[number]
            if rtt <= ANSWER_NS:
                self.rtts[number] = rtt

    def _request(self, number: int) -> bytes:
        payload = NUMBER.pack(number).ljust(PAYLOAD, b"\0")
        return self_check.echo_request(self.identifier, number & 0xFFFF, payload, self.family)

    def _now_ns(self) -> int:
        return time.clock_gettime_ns(kernel.CLOCK_MONOTONIC) + self.offset
