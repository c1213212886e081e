"""Requests over one connection: the client asks, the server answers, and a pause follows.

As a remote procedure call does: what counts is how long each answer takes, not the throughput.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from sandglass.agent.declare import DURATION, SIZE, WHOLE, Column, Option
from workloads import bulk

if TYPE_CHECKING:
    import socket

    from sandglass.agent.plan import Flow, Result
    from sandglass.agent.testbed import Testbed

TCP = True
ENDS_BY_ITSELF = True
OPTIONS = {
    "answer": Option(SIZE, "Size of an answer.", "20kB", ("20kB",)),
    "requests": Option(WHOLE, "How often the client asks.", 10, (50,), least=1, most=10_000),
    "pause": Option(DURATION, "From an answer's end to the next request.", "20ms", ("20ms",)),
}
COLUMNS = {"slowest_s": Column("Float64", "s", "the longest that an answer took")}
PARTS = {
    "exchanges": {
        "start_ns": Column("Int64", "ns", "when the client asked"),
        "took_ns": Column("Int64", "ns", "until it had read the last byte"),
    }
}


def run(flow: Flow, testbed: Testbed) -> Result:
    """Run one flow: the server, which sends, is `from`; the client is `to`."""
    port, options = bulk.FIRST_PORT + flow["id"], flow["options"]
    server, listener = bulk.endpoints(flow, testbed, port)
    testbed.sleep_until_start(flow)
    server.connect((testbed.network.address(flow["dst"]), port))
    client, _ = listener.accept()
    threading.Thread(target=serve, args=(server, options["answer"]), daemon=True).start()
    answers = []
    for _ in range(options["requests"]):
        start_ns = testbed.clock.now_ns()
        client.send(b"?")
        bulk.read(client, options["answer"])
        end_ns = testbed.clock.now_ns()
        answers.append({"start_ns": start_ns, "took_ns": end_ns - start_ns})
        testbed.clock.sleep_until(end_ns + options["pause"])
    return {
        "start_ns": flow["start_ns"],
        "end_ns": end_ns,
        "bytes": options["answer"] * len(answers),
        "slowest_ns": max(each["took_ns"] for each in answers),
        "exchanges": answers,
        **bulk.state_of(server, port),
    }


def serve(server: socket.socket, answer: int) -> None:
    """Send an answer for each byte that comes."""
    while server.recv(1):
        bulk.send(server, answer)
