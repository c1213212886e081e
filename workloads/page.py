"""A web page: HTML and the objects that it names, from nginx to a client with six connections.

nginx runs on `src`. The client, on `dst`, does what a browser does with HTTP/1.1: it fetches the
HTML, reads in it which objects there are, and fetches these in their order over up to six
connections, each with one request at a time. They stay open; the first is that of the HTML. (curl
keeps six connections too, but could not go on with the HTML's.)
"""

from __future__ import annotations

import re
import select
import socket
from typing import TYPE_CHECKING

from sandglass.agent import nginx, tcp
from sandglass.agent.declare import OBJECTS, SIZE, Column, Option
from sandglass.agent.failure import RunError, UnfinishedError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from sandglass.agent.clock import Clock
    from sandglass.agent.plan import Flow, Options, Result, Size
    from sandglass.agent.testbed import Testbed

TCP = IPV6 = True
OPENER = "to"
ENDS_BY_ITSELF = True
OPTIONS = {
    "html": Option(SIZE, "Size of the HTML.", examples=("30kB",)),
    "objects": Option(
        OBJECTS,
        "Sizes of the objects that the HTML names, in its order: a list, or how many and of which "
        "size.",
        examples=(["10kB", "100kB"], {"count": 40, "size": "12kB"}),
    ),
}
COLUMNS = {
    "plt_s": Column("Float64", "s", "page load time, from the start to the last byte of all"),
    "ttfb_s": Column("Float64", "s", "to the first byte of the HTML"),
}
PARTS = {
    "objects": {
        "object": Column("UInt16", "", "number of the object; 0: the HTML"),
        "connection": Column("UInt8", "", "over which it came, from 1"),
        "bytes": Column("Int64", "bytes", "its size, without the answer's header"),
        "start_ns": Column(
            "Int64", "ns", "when the client asked for it, or opened a connection to do so"
        ),
        "first_byte_ns": Column("Int64", "ns", "when the answer began to arrive"),
        "end_ns": Column("Int64", "ns", "when its last byte was read"),
    }
}
PROGRAMS = {"nginx": "-v"}
FIRST_PORT = 8000
CONNECTIONS = 6  # to one server: what browsers settled on for HTTP/1.1
HTML = "index.html"
HEAD = "<!DOCTYPE html><title>A page</title>\n"
HEAD_BYTES, LINE_BYTES = 100, 20  # of HTML: its head, and the name of an object
IMAGE = re.compile(rb'<img src="/([^"]+)">')
HEADER_END = b"\r\n\r\n"
FOUND = re.compile(rb"HTTP/1\.1 200 .*\r\nContent-Length: (\d+)\r\n", re.DOTALL)
READ = 1 << 20


def problems(options: Options, lasts_ns: int) -> Iterator[tuple[str, str]]:
    """Room in the HTML for the names of all objects."""
    from sandglass.experiment import units

    objects = len(options["objects"])
    least = HEAD_BYTES + LINE_BYTES * objects
    if options["html"] < least:
        yield (
            "html",
            f"{units.format_size(options['html'])} is too small to name "
            f"{objects} objects: write {units.format_size(least)} or more",
        )


def drawn(options: Options, draw: Callable[[str, Size], int]) -> Options:
    """Each object's size."""
    objects = enumerate(options["objects"], start=1)
    return options | {
        "objects": [draw(f"size of object {number}", each) for number, each in objects]
    }


def run(flow: Flow, testbed: Testbed) -> Result:
    """Load one page; returns what was measured.

    Keys: start_ns, end_ns, bytes (of HTML and objects), plt_ns (page load time, from the start to
    the last byte of all), ttfb_ns (to the first byte of the HTML's answer), objects (see Client),
    and of the server's sockets cc, ecn (negotiated by all), retransmits, rtos, delivered_ce (sums).
    """
    address = testbed.network.address(flow["src"], flow["family"])
    port = FIRST_PORT + flow["id"]
    sizes = flow["options"]["objects"]
    files: dict[str, int | bytes] = {HTML: html(flow["options"]["html"], len(sizes))}
    files |= {str(number): size for number, size in enumerate(sizes, start=1)}
    with nginx.serving(flow, files, address, port) as server:
        client = Client(flow, address, port, testbed.clock)
        testbed.sleep_until_start(flow)
        client.load()
        end_ns = client.fetched[-1]["end_ns"]
        with nginx.connections_of(server) as connections:
            client.close()
            for connection in connections:
                nginx.wait_for_end(connection)
            states = [tcp.info(connection) for connection in connections]
            cc = tcp.congestion_control(connections[0])
            testbed.sleep_past_end(flow, end_ns)
    objects = sorted(client.fetched, key=lambda fetched: fetched["object"])
    return {
        "start_ns": flow["start_ns"],
        "end_ns": end_ns,
        "bytes": sum(each["bytes"] for each in objects),
        "plt_ns": end_ns - flow["start_ns"],
        "ttfb_ns": objects[0]["first_byte_ns"] - flow["start_ns"],
        "objects": objects,
        "cc": cc,
        "ecn": all(state["options"] & tcp.ECN_SEEN for state in states),
        "retransmits": sum(state["total_retrans"] for state in states),
        "rtos": sum(state["total_rto"] for state in states),
        "delivered_ce": sum(state["delivered_ce"] for state in states),
        "sport": port,
        "dports": client.ports,
    }


def html(size: int, objects: int) -> bytes:
    """HTML of `size` bytes that names so many objects, and ends with blanks."""
    images = "".join(f'<img src="/{number}">\n' for number in range(1, objects + 1))
    return (HEAD + images).ljust(size).encode()


class Connection:
    """One of the client's connections, over which it fetches one object after the other.

    Attributes:
        socket: does not block.
        number: from 1.
        fetched: what Client tells of the object under way, so far.
        body: what has come of it, in pieces.
        left: how many bytes of it are to come; None: the header is to come.
    """

    def __init__(self, flow: Flow, number: int) -> None:
        self.socket = tcp.open_socket(flow["dst"], family=flow["family"])
        self.socket.setblocking(False)
        if flow["cc"]:
            # The client too: DCTCP is a protocol of both.
            tcp.set_congestion_control(self.socket, flow["cc"])
        self.number = number
        self.fetched: dict[str, int] = {}
        self.body: list[bytes] = []
        self.left: int | None = None

    def read(self) -> None:
        """Take in what has come.

        Raises:
            RunError: the server has no such file, or closed the connection.
        """
        came = self.socket.recv(READ)
        if not came:
            raise RunError("nginx closed a connection")
        self.body.append(came)
        if self.left is not None:
            self.left -= len(came)
            return
        header, end, body = b"".join(self.body).partition(HEADER_END)
        if end:
            found = FOUND.match(header + end)
            if not found:
                raise RunError(f"nginx answered {header.splitlines()[0].decode()}")
            self.body, self.left = [body], int(found[1]) - len(body)


class Client:
    """Loads one page.

    Attributes:
        fetched: of each object, in the order in which they came in: object (0: the HTML),
            connection (from 1), start_ns (when the client asked for it, or opened a connection to
            do so), first_byte_ns (of the answer), end_ns, bytes.
        ports: of the connections that were opened.
    """

    def __init__(self, flow: Flow, address: str, port: int, clock: Clock) -> None:
        self.server, self.clock = (address, port), clock
        self.unopened = [Connection(flow, number) for number in range(1, CONNECTIONS + 1)]
        self.idle: list[Connection] = []
        self.opened: dict[int, Connection] = {}  # by file descriptor
        self.poll = select.poll()
        self.names = [HTML]
        self.fetched: list[dict[str, int]] = []
        self.ports: list[int] = []

    def load(self) -> None:
        """Fetch the HTML, and then what it names.

        Raises:
            UnfinishedError: TCP gives a connection up.
        """
        begun = 0
        while len(self.fetched) < len(self.names):
            while begun < len(self.names) and (self.idle or self.unopened):
                self.fetch(begun)
                begun += 1
            for descriptor, event in self.poll.poll():
                connection = self.opened[descriptor]
                try:
                    if event == select.POLLOUT:
                        self.request(connection)
                    else:
                        self.take_in(connection)
                except OSError as error:
                    if error.errno not in tcp.GIVEN_UP:
                        raise
                    why = tcp.why_ended(connection.socket) or tcp.TIMED_OUT
                    received = sum(each["bytes"] for each in self.fetched)
                    raise UnfinishedError(why, received) from None

    def fetch(self, number: int) -> None:
        """Ask for an object over an idle connection, or open one for it."""
        connection = (self.idle or self.unopened).pop(0)
        connection.fetched = {
            "object": number,
            "connection": connection.number,
            "start_ns": self.clock.now_ns(),
        }
        if connection.number <= len(self.ports):
            self.request(connection)
        else:
            connection.socket.connect_ex(self.server)
            self.ports.append(connection.socket.getsockname()[1])
            self.opened[connection.socket.fileno()] = connection
            self.poll.register(connection.socket, select.POLLOUT)

    def request(self, connection: Connection) -> None:
        """Ask for an object over an open connection."""
        name = self.names[connection.fetched["object"]]
        connection.body, connection.left = [], None
        request = f"GET /{name} HTTP/1.1\r\nHost: {nginx.place(*self.server)}\r\n\r\n"
        connection.socket.send(request.encode())
        self.poll.register(connection.socket, select.POLLIN)

    def take_in(self, connection: Connection) -> None:
        """Read what has come of an object, and what the HTML names if that is it."""
        connection.read()
        fetched, now_ns = connection.fetched, self.clock.now_ns()
        fetched.setdefault("first_byte_ns", now_ns)
        if connection.left == 0:
            body = b"".join(connection.body)
            self.fetched.append(fetched | {"end_ns": now_ns, "bytes": len(body)})
            self.idle.append(connection)
            if fetched["object"] == 0:
                self.names += [name.decode() for name in IMAGE.findall(body)]

    def close(self) -> None:
        """Say to the server that there is nothing more to come."""
        for connection in self.opened.values():
            connection.socket.shutdown(socket.SHUT_WR)
