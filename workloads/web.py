"""Synthetic web load: transfers that begin at random, each of one answer over a connection of its
own.

Users who know nothing of each other ask for answers: a Poisson process. The client, on `dst`, opens
a connection, sends a request of 350 bytes, reads the answer, and closes. All transfers of a flow
share one thread, which epoll wakes: what a transfer costs is some system calls, not a process.

Sizes, from the seed and the numbers of flow and transfer alone, so that whatever is compared meets
the same load:
- web: with 0.93 lognormal below 133 kB, else Pareto's tail from there on, cut at 10 MB. The form
  and its parameters are those of SURGE (P. Barford, M. Crovella, Generating representative web
  workloads, SIGMETRICS 1998); the tail's cut, which decides the mean, is ours.
- search: the flows of a web search's data centre (M. Alizadeh et al., Data Center TCP, SIGCOMM
  2010, fig. 4), between the points of the curve in proportion.

It is no trace of real traffic, and no replay of connection vectors, as Tmix is.
"""

from __future__ import annotations

import errno
import functools
import math
import os
import select
import socket
import threading
from typing import TYPE_CHECKING, Any, NamedTuple

from sandglass.agent import draws, tcp
from sandglass.agent.declare import RATE, TEXT, Column, Option
from sandglass.agent.plan import end_ns
from workloads import bulk

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from sandglass.agent.clock import Clock
    from sandglass.agent.plan import Flow, Options, Result
    from sandglass.agent.testbed import Testbed

TCP = IPV6 = True
OPENER = "to"
OPTIONS = {
    "rate": Option(
        RATE,
        "Mean rate of what is asked for, as a bottleneck counts it: packets of 1514 bytes with "
        "1448 of an answer in each.",
        examples=("6mbit",),
    ),
    "answers": Option(
        TEXT,
        "Sizes of the answers. web: lognormal with a tail of Pareto up to 10 MB, 61 kB on average; "
        "search: of a data centre that searches the web, up to 30 MB, 1.7 MB on average.",
        "web",
        ("search",),
    ),
}
COLUMNS = {
    "transfers_begun": Column("Int64", "", "transfers asked for"),
    "transfers_ended": Column("Int64", "", "those that had ended at the flow's end"),
}
PARTS = {
    "transfers": {
        "transfer": Column("UInt32", "", "number of the transfer, from 1"),
        "bytes": Column("Int64", "bytes", "size of the answer"),
        "start_ns": Column("Int64", "ns", "when the client opened the connection"),
        "end_ns": Column(
            "Int64",
            "ns",
            "when it had read the answer's last byte; null: not before the flow's end",
        ),
        "fct_ns": Column("Int64", "ns", "from `start_ns` to `end_ns`; null likewise"),
    }
}

FIRST_PORT = 7000
REQUEST = 350  # bytes; the answer's size, and spaces
BACKLOG = 4096
WIRE, PAYLOAD = 1514, 1448  # bytes of a full packet with timestamps, and of answer in it
SECOND_NS = 1_000_000_000

BODY = 0.93  # share of the answers
MU, SIGMA = 9.357, 1.318  # of the natural logarithm of bytes
BODY_END = 133_000
ALPHA = 1.1
LARGEST = 10_000_000
SCALE = 1 << 53
SEARCH = (
    *((10_000, 0.15), (20_000, 0.2), (30_000, 0.3), (50_000, 0.4), (80_000, 0.53)),
    *((200_000, 0.6), (1_000_000, 0.7), (2_000_000, 0.8), (5_000_000, 0.9), (10_000_000, 0.97)),
    (30_000_000, 1.0),
)
"""Bytes, and the share of answers that have no more."""


class Transfer(NamedTuple):
    """What one user asks for."""

    number: int
    start_ns: int
    size: int


def problems(options: Options, lasts_ns: int) -> Iterator[tuple[str, str]]:
    """Whether sizes are called as they are here."""
    if options["answers"] not in SIZES:
        known = ", ".join(SIZES)
        yield "answers", f"there are no sizes {options['answers']}: write one of {known}"


def offered(seed: int, flow: Flow) -> Iterator[Transfer]:
    """All transfers of a flow, in order of time."""
    rate, answers = flow["options"]["rate"], flow["options"]["answers"]
    size, mean = SIZES[answers]
    gap_ns = mean() * 8 * SECOND_NS * WIRE / PAYLOAD / rate
    at_ns, number = flow["start_ns"], 1
    while True:
        what = f"transfer {number} of flow {flow['id']}"
        at_ns += draws.exponential(seed, f"gap before {what}", gap_ns)
        if at_ns >= end_ns(flow):
            return
        yield Transfer(number, at_ns, size(seed, f"size of {what}"))
        number += 1


def share(seed: int, what: str) -> float:
    """Uniform from 0 to below 1."""
    return draws.uniform(seed, what, SCALE - 1) / SCALE


def web(seed: int, what: str) -> int:
    """A size of SURGE's form."""
    if share(seed, f"part of {what}") >= BODY:
        return min(round(BODY_END * math.pow(1 - share(seed, what), -1 / ALPHA)), LARGEST)
    size, again = BODY_END, 0
    while size >= BODY_END:
        median = round(math.exp(MU))
        size = draws.lognormal(seed, f"{what}, {again}", median, SIGMA, 1, BODY_END)
        again += 1
    return size


def web_mean() -> float:
    """Of `web`, in bytes."""
    end = (math.log(BODY_END) - MU) / SIGMA
    body = math.exp(MU + SIGMA**2 / 2) * normal(end - SIGMA) / normal(end)
    tail = BODY_END * (ALPHA - math.pow(BODY_END / LARGEST, ALPHA - 1)) / (ALPHA - 1)
    return BODY * body + (1 - BODY) * tail


def normal(x: float) -> float:
    """The standard normal distribution."""
    return (1 + math.erf(x / math.sqrt(2))) / 2


def search(seed: int, what: str) -> int:
    """A size of a data centre's web search."""
    place = share(seed, what)
    below, least = 0, 0.0
    for size, most in SEARCH:
        if place < most:
            break
        below, least = size, most
    return max(round(below + (size - below) * (place - least) / (most - least)), 1)


def search_mean() -> float:
    """Of `search`, in bytes."""
    total, below, least = 0.0, 0, 0.0
    for size, most in SEARCH:
        total += (most - least) * (below + size) / 2
        below, least = size, most
    return total


SIZES: dict[str, tuple[Callable[[int, str], int], Callable[[], float]]] = {
    "web": (web, web_mean),
    "search": (search, search_mean),
}


def packets(options: Options, time_ns: int) -> int:
    """How many it sends in so long a time if all is answered, on average."""
    sent: int = options["rate"] * time_ns // SECOND_NS // 8 // WIRE
    return sent


def run(flow: Flow, testbed: Testbed) -> Result:
    """Run one flow; returns its result.

    Keys: start_ns, end_ns, bytes (that the client got, of unfinished answers too), transfers (of
    each: transfer, bytes, start_ns, end_ns, fct_ns), transfers_begun, transfers_ended, and of the
    server's sockets cc, ecn (negotiated by all), retransmits, rtos, delivered_ce (sums).

    Transfers that have not ended at the flow's end are broken off.
    """
    port = FIRST_PORT + flow["id"]
    address = testbed.network.address(flow["src"], flow["family"])
    exchange = Exchange(listening(flow, address, port), testbed.clock)
    exchange.start()
    transfers = list(offered(testbed.plan["seed"], flow))
    testbed.sleep_until_start(flow)
    for transfer in transfers:
        testbed.clock.sleep_until(transfer.start_ns)
        exchange.ask(transfer, client(flow), (address, port))
    testbed.clock.sleep_until(end_ns(flow))
    exchange.stop()
    testbed.sleep_past_end(flow, end_ns(flow))
    exchange.break_off()
    return {
        "start_ns": flow["start_ns"],
        "end_ns": end_ns(flow),
        "bytes": exchange.received,
        "transfers": [
            {
                "transfer": each.number,
                "bytes": each.size,
                "start_ns": each.start_ns,
                "end_ns": (ended := exchange.ended.get(each.number)),
                "fct_ns": ended and ended - each.start_ns,
            }
            for each in transfers
        ],
        "transfers_begun": len(transfers),
        "transfers_ended": len(exchange.ended),
        "cc": tcp.congestion_control(exchange.listener),
        "ecn": exchange.ecn,
        **exchange.counts,
        "sport": port,
        "dports": sorted(exchange.ports),
    }


def listening(flow: Flow, address: str, port: int) -> socket.socket:
    """The server's socket. What it accepts has its congestion control."""
    listener = tcp.open_socket(flow["src"], family=flow["family"])
    if flow["cc"]:
        tcp.set_congestion_control(listener, flow["cc"])
    listener.setsockopt(socket.IPPROTO_TCP, bulk.TCP_NOTSENT_LOWAT, bulk.NOTSENT)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, REQUEST)
    listener.setblocking(False)
    listener.bind((address, port))
    listener.listen(BACKLOG)
    return listener


def client(flow: Flow) -> socket.socket:
    """A client's socket, to be connected."""
    asking = tcp.open_socket(flow["dst"], family=flow["family"])
    if flow["cc"]:
        tcp.set_congestion_control(asking, flow["cc"])  # DCTCP is a protocol of both ends
    asking.setblocking(False)
    return asking


class Exchange(threading.Thread):
    """Server and clients of a flow: whatever their sockets are ready for is done here.

    Attributes:
        ended: when the transfers' last bytes had been read, by their numbers.
        received: bytes that clients have read.
        ports: those of the clients.
        ecn: whether all connections negotiated it; None while there is none.
        counts: of the server's connections, summed.
    """

    def __init__(self, listener: socket.socket, clock: Clock) -> None:
        super().__init__(daemon=True)
        self.listener, self.clock = listener, clock
        self.ended: dict[int, int] = {}
        self.received = 0
        self.ports: set[int] = set()
        self.ecn: bool | None = None
        self.counts = {"retransmits": 0, "rtos": 0, "delivered_ce": 0}
        self._error: Exception | None = None
        self._epoll = select.epoll()
        self._ready: dict[int, Callable[[], None]] = {}
        self._serving: dict[int, socket.socket] = {}
        self._asking: dict[int, socket.socket] = {}
        self._halt = os.eventfd(0)
        self._epoll.register(self._halt, select.EPOLLIN)
        self._await(listener, select.EPOLLIN, self._accept)

    def ask(self, transfer: Transfer, asking: socket.socket, address: tuple[str, int]) -> None:
        """Open the connection of a transfer."""
        if (result := asking.connect_ex(address)) not in (0, errno.EINPROGRESS):
            raise OSError(result, os.strerror(result))
        self._asking[asking.fileno()] = asking
        self._await(asking, select.EPOLLOUT, lambda: self._request(transfer, asking))

    def stop(self) -> None:
        """Do no more. Raises what went wrong."""
        os.eventfd_write(self._halt, 1)
        self.join()
        if self._error:
            raise self._error

    def break_off(self) -> None:
        """Reset the connections that are left, and take what the server's have counted."""
        for serving in self._serving.values():
            self._count(serving)
        for left in (*self._asking.values(), *self._serving.values()):
            left.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
            left.close()

    def run(self) -> None:
        try:
            while True:
                for number, _ in self._epoll.poll():
                    if number == self._halt:
                        return
                    try:
                        self._ready[number]()
                    except OSError as error:
                        if error.errno not in tcp.GIVEN_UP:
                            raise
                        self._give_up(number)
        except Exception as error:  # which the flow's own thread raises again
            self._error = error

    def _await(self, which: socket.socket, event: int, then: Callable[[], None]) -> None:
        """Do `then` whenever a socket is ready."""
        number = which.fileno()
        known = number in self._ready
        self._ready[number] = then
        (self._epoll.modify if known else self._epoll.register)(number, event)

    def _forget(self, which: socket.socket, among: dict[int, Any]) -> None:
        del self._ready[which.fileno()], among[which.fileno()]
        which.close()

    def _give_up(self, number: int) -> None:
        """TCP has, on a connection."""
        if serving := self._serving.get(number):
            self._end(serving)
        else:
            self._forget(self._asking[number], self._asking)

    def _accept(self) -> None:
        serving, _ = self.listener.accept()
        serving.setblocking(False)
        self._serving[serving.fileno()] = serving
        self._await(serving, select.EPOLLIN, lambda: self._read(serving))

    def _read(self, serving: socket.socket) -> None:
        """The request."""
        self._answer(serving, int(serving.recv(REQUEST)))

    def _answer(self, serving: socket.socket, left: int) -> None:
        while left:
            try:
                left -= serving.send(bulk.ZEROS[: min(left, bulk.MEGABYTE)])
            except BlockingIOError:
                rest = functools.partial(self._answer, serving, left)
                self._await(serving, select.EPOLLOUT, rest)
                return
        self._await(serving, select.EPOLLIN, lambda: self._end(serving))

    def _end(self, serving: socket.socket) -> None:
        """The client has closed."""
        self._count(serving)
        self._forget(serving, self._serving)

    def _count(self, serving: socket.socket) -> None:
        state = tcp.info(serving)
        self.ecn = bool(state["options"] & tcp.ECN_SEEN) and self.ecn is not False
        self.counts["retransmits"] += state["total_retrans"]
        self.counts["rtos"] += state["total_rto"]
        self.counts["delivered_ce"] += state["delivered_ce"]

    def _request(self, transfer: Transfer, asking: socket.socket) -> None:
        """The connection is open, or nobody has answered for two minutes."""
        if error := asking.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR):
            raise OSError(error, os.strerror(error))
        self.ports.add(asking.getsockname()[1])
        asking.send(str(transfer.size).encode().ljust(REQUEST))
        self._wait_for(transfer, asking, transfer.size)

    def _wait_for(self, transfer: Transfer, asking: socket.socket, left: int) -> None:
        """Wake up for as much as 64 kB, or for the rest."""
        low_water = min(left, bulk.LOW_WATER)
        asking.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, low_water)
        self._await(asking, select.EPOLLIN, lambda: self._take(transfer, asking, left))

    def _take(self, transfer: Transfer, asking: socket.socket, left: int) -> None:
        count = asking.recv_into(bulk.UNREAD, bulk.MEGABYTE, socket.MSG_TRUNC)
        self.received += count
        if count < left:
            self._wait_for(transfer, asking, left - count)
            return
        self.ended[transfer.number] = self.clock.now_ns()
        self._forget(asking, self._asking)
