"""A file over HTTP: nginx serves it, curl fetches it.

The flow's data goes as in a bulk transfer, from `src` to `dst`; so nginx runs on
`src`, and curl, which opens the connection, on `dst`. Both start before time
zero, one pair for each flow: curl waits for the rest of its configuration,
which it is given at the flow's start.
"""

from __future__ import annotations

import errno
import os
import subprocess
from typing import TYPE_CHECKING

from sandglass.agent import kernel, nginx, tcp
from sandglass.agent.declare import SIZES, SOME_SIZES, Column, Option
from sandglass.agent.failure import RunError, UnfinishedError
from sandglass.agent.plan import size_bytes

if TYPE_CHECKING:
    from sandglass.agent.plan import Flow, Result
    from sandglass.agent.testbed import Testbed

TCP = IPV6 = True
OPENER = "to"
OTHER_END_CHOOSES = False  # curl takes the congestion control that its host has
OPTIONS = {
    "size": Option(
        SIZES,
        "Size of the file; a list gives a flow for each of its sizes.",
        examples=SOME_SIZES,
    )
}
COLUMNS = {"ttfb_s": Column("Float64", "s", "curl's time to the first byte, to 1 us")}
PROGRAMS = {"nginx": "-v", "curl": "--version"}
FIRST_PORT = 8000
FILE = "file"
CURL_TIMED_OUT = 28  # CURLE_OPERATION_TIMEDOUT; without a time limit of curl's it is connect()'s
MEASURED = ("http_code", "local_port", "size_download", "time_starttransfer")


def run(flow: Flow, testbed: Testbed) -> Result:
    """Run one flow; returns its result.

    Keys: start_ns, end_ns (when curl ended), bytes (of the file), fct_ns, ttfb_ns (curl's time
    from its start to the first byte of the answer, to the microsecond), and of the server's
    socket cc, ecn (negotiated), retransmits, rtos, delivered_ce, mss.
    """
    address = testbed.network.address(flow["src"], flow["family"])
    port = FIRST_PORT + flow["id"]
    with nginx.serving(flow, {FILE: size_bytes(flow)}, address, port) as server:
        client = start_client(flow)
        testbed.sleep_until_start(flow)
        said, complaint = client.communicate(f"url = http://{nginx.place(address, port)}/{FILE}\n")
        end_ns = testbed.clock.now_ns()
        measured = dict(zip(MEASURED, said.split(), strict=True))
        if client.returncode == CURL_TIMED_OUT or os.strerror(errno.ETIMEDOUT) in complaint:
            received = int(measured["size_download"])
            why = tcp.NOT_CONNECTED if client.returncode == CURL_TIMED_OUT else tcp.TIMED_OUT
            raise UnfinishedError(why, received)
        if client.returncode:
            raise RunError(f"curl failed: {complaint.strip()}")
        received = int(measured["size_download"])
        if measured["http_code"] != "200" or received != flow["size_bytes"]:
            raise RunError(
                f"curl got status {measured['http_code']} and "
                f"{received} of {flow['size_bytes']} bytes"
            )
        # curl's FIN is still under way: nginx has the connection open.
        with nginx.connections_of(server) as (connection,):
            nginx.wait_for_end(connection)
            state = tcp.info(connection)
            cc = tcp.congestion_control(connection)
            testbed.sleep_past_end(flow, end_ns)
    return {
        "start_ns": flow["start_ns"],
        "end_ns": end_ns,
        "bytes": received,
        "fct_ns": end_ns - flow["start_ns"],
        "ttfb_ns": round(float(measured["time_starttransfer"]) * 1e6) * 1000,
        "cc": cc,
        "ecn": bool(state["options"] & tcp.ECN_SEEN),
        "retransmits": state["total_retrans"],
        "rtos": state["total_rto"],
        "delivered_ce": state["delivered_ce"],
        "mss": state["snd_mss"],
        "sport": port,
        "dport": int(measured["local_port"]),
    }


def start_client(flow: Flow) -> subprocess.Popen[str]:
    """curl, which waits for its URL."""
    with kernel.namespace(flow["dst"]):
        return subprocess.Popen(
            [
                "curl",
                "--disable",  # the user's own configuration
                "--silent",
                "--show-error",
                "--noproxy",
                "*",
                "--output",
                os.devnull,
                "--write-out",
                " ".join(f"%{{{name}}}" for name in MEASURED),
                "--config",
                "-",
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
