"""Bulk transfer over TCP: as fast as it goes, for a time or for a number of bytes.

Sender and receiver are two threads that stay inside the kernel nearly all the
time: the sender in one long send(), the receiver asleep until 64 kB have come
(SO_RCVLOWAT). The kernel acknowledges as it does for a receiver that reads at
once; the advertised window is smaller by at most those 64 kB.

A flow with a duration stops writing at its end; what has been written, at most
the congestion window and NOTSENT bytes, is still delivered. One that is not
connected by then does not begin later. A flow with a size ends when its receiver
has read the last byte, or when TCP gives up.
"""

from __future__ import annotations

import contextlib
import select
import socket
import threading
from typing import TYPE_CHECKING, Any

from sandglass.agent import dscp, tcp
from sandglass.agent.declare import SENT, SIZES, SOME_SIZES, Option
from sandglass.agent.failure import RunError
from sandglass.agent.plan import end_ns

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sandglass.agent.clock import Clock
    from sandglass.agent.plan import Flow, Options, Result
    from sandglass.agent.testbed import Testbed

TCP = IPV6 = True
OPTIONS = {"size": Option(SIZES, SENT, None, SOME_SIZES), "dscp": dscp.OPTION}

FIRST_PORT = 5000
MEGABYTE = 1 << 20
# One for all flows, whatever is in them. A process of the lab has some 65,000 pages at most where
# they do not lie in a row, and a block of its own would cost each flow 256 of them.
ZEROS = memoryview(bytes(MEGABYTE))
UNREAD = bytearray(MEGABYTE)  # MSG_TRUNC: TCP counts bytes without copying them
LOW_WATER = 65536
NOTSENT = 131072  # bytes written and not yet sent, at most
TCP_NOTSENT_LOWAT = 25  # <linux/tcp.h>


def problems(options: Options, lasts_ns: int) -> Iterator[tuple[str, str]]:
    """A code point that there is."""
    return dscp.problems(options)


def run(flow: Flow, testbed: Testbed) -> Result:
    """Run one flow; returns its result.

    Keys: start_ns, end_ns, bytes (received), fct_ns (of a flow with a size),
    cc, ecn (negotiated), retransmits, rtos, delivered_ce, mss; unfinished, and why, of a flow that
    never was connected or that TCP gave up.
    """
    port = FIRST_PORT + flow["id"]
    sender, listener = endpoints(flow, testbed, port)
    receiver = Receiver(listener, flow["size_bytes"], testbed.clock)
    receiver.start()
    address = testbed.network.address(flow["dst"], flow["family"]), port
    connected = testbed.connect_at_start(flow, sender, address)
    if flow["size_bytes"]:
        unfinished = delivered(sender, flow["size_bytes"]) if connected else tcp.NOT_CONNECTED
        ended_ns = testbed.clock.now_ns() if unfinished else receiver.done_ns
    else:
        ended_ns = end_ns(flow)
        if connected:
            threading.Thread(target=send, args=(sender, None), daemon=True).start()
        testbed.clock.sleep_until(ended_ns)
        unfinished = tcp.why_ended(sender)
    received = receiver.so_far()
    if flow["size_bytes"] and not unfinished and received != flow["size_bytes"]:
        raise RunError(f"received {received} of {flow['size_bytes']} bytes")
    result = {
        "start_ns": flow["start_ns"],
        "end_ns": ended_ns,
        "bytes": received,
        "fct_ns": ended_ns - flow["start_ns"] if flow["size_bytes"] and not unfinished else None,
        **state_of(sender, port),
    }
    if unfinished:
        for endpoint in (sender, listener, receiver.connection):
            stop(endpoint)  # at once: an answer to a SYN finds nobody
        return result | {"unfinished": unfinished}
    testbed.sleep_past_end(flow, ended_ns)
    sender.shutdown(socket.SHUT_RDWR)
    return result


def delivered(sender: socket.socket, size: int) -> str | None:
    """Send `size` bytes, and wait until all have come; why that is unfinished, if it is."""
    try:
        send(sender, size)
        sender.recv(1)  # the receiver closes when it has everything
    except OSError as error:
        if error.errno not in tcp.GIVEN_UP:
            raise
        return tcp.TIMED_OUT
    return None


def stop(endpoint: socket.socket | None) -> None:
    """Have a socket do no more, and who waits for something at it wait no longer."""
    if endpoint is not None:
        with contextlib.suppress(OSError):  # it has ended by itself
            endpoint.shutdown(socket.SHUT_RDWR)


def endpoints(flow: Flow, testbed: Testbed, port: int) -> tuple[socket.socket, socket.socket]:
    """The sender's socket, to be connected, and the receiver's that listens on `port`."""
    family = flow["family"]
    listener = tcp.open_socket(flow["dst"], family=family)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind((testbed.network.address(flow["dst"], family), port))
    listener.listen(1)
    sender = tcp.open_socket(flow["src"], family=family)
    if flow["cc"]:
        # The receiver too: DCTCP is a protocol of both, and falls back to Reno without.
        tcp.set_congestion_control(listener, flow["cc"])
        tcp.set_congestion_control(sender, flow["cc"])
    sender.setsockopt(socket.IPPROTO_TCP, TCP_NOTSENT_LOWAT, NOTSENT)
    for endpoint in (sender, listener):
        dscp.mark(endpoint, flow)
    return sender, listener


def state_of(sender: socket.socket, port: int) -> dict[str, Any]:
    """What a result tells of the sender's socket, which is connected to `port`."""
    state = tcp.info(sender)
    return {
        "cc": tcp.congestion_control(sender),
        "ecn": bool(state["options"] & tcp.ECN_SEEN),
        "retransmits": state["total_retrans"],
        "rtos": state["total_rto"],
        "delivered_ce": state["delivered_ce"],
        "mss": state["snd_mss"],
        "sport": sender.getsockname()[1],
        "dport": port,
    }


def send(connection: socket.socket, size: int | None) -> None:
    """Write `size` bytes, or until the connection is shut down."""
    try:
        if size is None:
            while True:
                connection.sendall(ZEROS)
        while size:
            size -= connection.send(ZEROS[: min(size, MEGABYTE)])
    except OSError:
        if size is not None:
            raise


def read(connection: socket.socket, size: int | None) -> int:
    """Read `size` bytes, or to the end; returns how many there were.

    Waits for the last of them in poll(), not in recv(): that takes less than SO_RCVLOWAT says when
    it finds less, and then waits for as much again, which may be more than is left.
    """
    received, low_water = 0, None
    poll = select.poll()
    poll.register(connection, select.POLLIN)
    while size is None or received < size:
        left = LOW_WATER if size is None else min(LOW_WATER, size - received)
        if left != low_water:
            low_water = left
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, low_water)
        if size is not None and size - received < 2 * LOW_WATER:
            poll.poll()
        count = connection.recv_into(UNREAD, MEGABYTE, socket.MSG_TRUNC)
        if not count:
            break
        received += count
    return received


class Receiver(threading.Thread):
    """Accepts one connection and reads it to its end, or to `size` bytes.

    Attributes:
        connection: the accepted socket; None while the handshake's last packet has not come.
        received: bytes read.
        done_ns: when the last byte was read, on the experiment's clock.
    """

    connection: socket.socket | None = None

    def __init__(self, listener: socket.socket, size: int | None, clock: Clock) -> None:
        super().__init__(daemon=True)
        self.listener, self.size, self.clock = listener, size, clock
        self.received = self.done_ns = 0

    def run(self) -> None:
        try:
            connection, _ = self.listener.accept()
        except OSError:  # stopped
            return
        self.connection = connection
        self.received = read(connection, self.size)
        if self.received == self.size:
            self.done_ns = self.clock.now_ns()
            connection.close()

    def so_far(self) -> int:
        """How many bytes have come."""
        if self.connection is None:
            return 0
        return self.received or tcp.info(self.connection)["bytes_received"]
