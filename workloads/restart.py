"""One connection that sends, falls silent, and sends again: how TCP restarts after idle time.

Options: rounds, pause (ns, from the last byte of a round at the receiver to the first of the next
at the sender). A round is a bulk transfer of the flow's size; the first one opens the connection.
"""

from __future__ import annotations

import socket
import threading
from typing import TYPE_CHECKING, Any

from sandglass.agent.failure import RunError
from workloads import bulk
from workloads.bulk import check

if TYPE_CHECKING:
    from sandglass.agent import Flow
    from sandglass.agent.testbed import Lab

__all__ = ["check", "run"]


def run(flow: Flow, lab: Lab) -> dict[str, Any]:
    """Run one flow; returns its result.

    Keys: start_ns, end_ns (of the last round), bytes (of all), rounds (of each: round, start_ns,
    end_ns, fct_ns), and of the sender's socket cc, ecn, retransmits, rtos, delivered_ce, mss.
    """
    size, options = flow["size_bytes"], flow["options"]
    port = bulk.FIRST_PORT + flow["id"]
    sender, listener = bulk.endpoints(flow, lab, port)
    lab.sleep_until_start(flow)
    sender.connect((lab.network.address(flow["dst"]), port))
    rounds = []
    start_ns = flow["start_ns"]
    for number in range(1, options["rounds"] + 1):
        lab.clock.sleep_until(start_ns)
        threading.Thread(target=bulk.send, args=(sender, size), daemon=True).start()
        if number == 1:
            connection, _ = listener.accept()  # half a round trip later than connect()
        received = bulk.read(connection, size)
        if received != size:
            raise RunError(f"received {received} of {size} bytes")
        end_ns = lab.clock.now_ns()
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
    lab.sleep_past_end(flow, end_ns)
    sender.shutdown(socket.SHUT_RDWR)
    return result
