"""One connection that sends, falls silent, and sends again: how TCP restarts after idle time.

A round is a bulk transfer of the flow's size; the first one opens the connection.
"""

from __future__ import annotations

import socket
import threading
from typing import TYPE_CHECKING

from sandglass.agent import dscp, tcp
from sandglass.agent.declare import DURATION, SIZES, SOME_SIZES, WHOLE, Column, Option
from sandglass.agent.failure import RunError, UnfinishedError
from sandglass.agent.plan import size_bytes
from workloads import bulk

if TYPE_CHECKING:
    from sandglass.agent.plan import Flow, Result
    from sandglass.agent.testbed import Testbed

TCP = IPV6 = True
OPTIONS = {
    "size": Option(
        SIZES,
        "How much it sends in each round; a list gives a flow for each of its sizes.",
        examples=SOME_SIZES,
    ),
    "rounds": Option(WHOLE, "How often it sends.", examples=(3,), least=2, most=1000),
    "pause": Option(
        DURATION,
        "Time from the end of a round at the receiver to the start of the next.",
        examples=("1s",),
    ),
    "dscp": dscp.OPTION,
}
PARTS = {
    "rounds": {
        "round": Column("UInt16", "", "number, from 1; the first one opens the connection"),
        "start_ns": Column("Int64", "ns", "when the sender began"),
        "end_ns": Column("Int64", "ns", "when the receiver had read the round's last byte"),
        "fct_ns": Column("Int64", "ns", "from `start_ns` to `end_ns`"),
    }
}


problems = bulk.problems


def run(flow: Flow, testbed: Testbed) -> Result:
    """Run one flow; returns its result.

    Keys: start_ns, end_ns (of the last round), bytes (of all), rounds (of each: round, start_ns,
    end_ns, fct_ns), and of the sender's socket cc, ecn, retransmits, rtos, delivered_ce, mss.
    """
    size, options = size_bytes(flow), flow["options"]
    port = bulk.FIRST_PORT + flow["id"]
    sender, listener = bulk.endpoints(flow, testbed, port)
    address = testbed.network.address(flow["dst"], flow["family"]), port
    if not testbed.connect_at_start(flow, sender, address):
        raise UnfinishedError(tcp.NOT_CONNECTED, 0)
    rounds = []
    start_ns = flow["start_ns"]
    for number in range(1, options["rounds"] + 1):
        testbed.clock.sleep_until(start_ns)
        threading.Thread(target=bulk.send, args=(sender, size), daemon=True).start()
        if number == 1:
            connection, _ = listener.accept()  # half a round trip later than connect()
        received = bulk.read(connection, size)
        if received != size:
            raise RunError(f"received {received} of {size} bytes")
        end_ns = testbed.clock.now_ns()
        rounds.append(
            {
                "round": number,
                "start_ns": start_ns,
                "end_ns": end_ns,
                "fct_ns": end_ns - start_ns,
            }
        )
        start_ns = end_ns + options["pause"]
    connection.close()
    sender.recv(1)  # with the FIN has come the last acknowledgement
    result = {
        "start_ns": flow["start_ns"],
        "end_ns": end_ns,
        "bytes": size * len(rounds),
        "rounds": rounds,
        **bulk.state_of(sender, port),
    }
    testbed.sleep_past_end(flow, end_ns)
    sender.shutdown(socket.SHUT_RDWR)
    return result
