"""A file over HTTP: nginx serves it, curl fetches it.

The flow's data goes as in a bulk transfer, from `src` to `dst`; so nginx runs on
`src`, and curl, which opens the connection, on `dst`. Both start before time
zero, one pair for each flow: curl waits for the rest of its configuration,
which it is given at the flow's start. What is served is a file of zeros that
takes no room (a hole), with a fixed date, by Debian's sendfile and tcp_nopush.

nginx does not choose a congestion control. The agent takes its listening socket
and chooses one there: connections that a socket accepts have the same. The
connection, too, the agent takes, for what the kernel counts there.
"""

from __future__ import annotations

import contextlib
import os
import select
import shutil
import socket
import subprocess
import tempfile
import time
from typing import TYPE_CHECKING, Any

from sandglass.agent import kernel, tcp
from sandglass.agent.errors import RunError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sandglass.agent import Flow
    from sandglass.agent.lab import Lab

PROGRAMS = ("nginx", "curl")
FIRST_PORT = 8000
FILE = "file"
POLL_S = 1e-3  # between two looks at whether nginx listens
# The time-outs are longer than any transfer. nginx makes all of the directories for temporary
# files; Debian's are in /var/lib, which the lab does not have.
CONFIGURATION = """
daemon off;
master_process off;
pid pid;
events {{ worker_connections 8; }}
http {{
    access_log off;
    sendfile on;
    tcp_nopush on;
    send_timeout 1d;
    keepalive_timeout 1d;
    client_body_temp_path temporary;
    proxy_temp_path temporary;
    fastcgi_temp_path temporary;
    uwsgi_temp_path temporary;
    scgi_temp_path temporary;
    server {{ listen {address}:{port}; root .; }}
}}
"""
MEASURED = ("http_code", "local_port", "size_download", "time_starttransfer")


def check(flow: Flow, lab: Lab) -> None:
    """Are the programs there?

    Raises:
        RunError: naming the program.
    """
    for program in PROGRAMS:
        if not shutil.which(program):
            raise RunError(f"{program} is not installed, http needs it", "Run ./sandglass setup.")


def run(flow: Flow, lab: Lab) -> dict[str, Any]:
    """Run one flow; returns its result.

    Keys: start_ns, end_ns (when curl ended), bytes (of the file), fct_ns, ttfb_ns (curl's time
    from its start to the first byte of the answer, to the microsecond), and of the server's
    socket cc, ecn (negotiated), retransmits, rtos, delivered_ce, mss.
    """
    address, port = lab.network.address(flow["src"]), FIRST_PORT + flow["id"]
    with serving(flow, address, port) as server:
        client = start_client(flow)
        lab.sleep_until_start(flow)
        said, complaint = client.communicate(f"url = http://{address}:{port}/{FILE}\n")
        end_ns = lab.clock.now_ns()
        if client.returncode:
            raise RunError(f"curl failed: {complaint.strip()}")
        measured = dict(zip(MEASURED, said.split(), strict=True))
        received = int(measured["size_download"])
        if measured["http_code"] != "200" or received != flow["size_bytes"]:
            raise RunError(
                f"curl got status {measured['http_code']} and "
                f"{received} of {flow['size_bytes']} bytes"
            )
        # curl's FIN is still under way: nginx has the connection open.
        with connection_of(server) as connection:
            select.select([connection], [], [])  # with the FIN has come the last acknowledgement
            state = tcp.info(connection)
            cc = tcp.congestion_control(connection)
            lab.sleep_past_end(flow, end_ns)
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


@contextlib.contextmanager
def serving(flow: Flow, address: str, port: int) -> Iterator[subprocess.Popen[bytes]]:
    """nginx in one process, with the flow's file and congestion control."""
    with tempfile.TemporaryDirectory() as directory:
        write_files(directory, flow["size_bytes"], address, port)
        with kernel.namespace(flow["src"]):
            server = subprocess.Popen(
                ["nginx", "-p", directory, "-c", "nginx.conf", "-e", "stderr"]
            )
        try:
            with listener_of(server) as listener:
                if flow["cc"]:
                    tcp.set_congestion_control(listener, flow["cc"])
            yield server
        finally:
            server.terminate()
            server.wait()


def write_files(directory: str, size: int, address: str, port: int) -> None:
    """Leave nginx its configuration, and the file of `size` bytes to be served."""
    with open(os.path.join(directory, "nginx.conf"), "w") as file:
        file.write(CONFIGURATION.format(address=address, port=port))
    served = os.path.join(directory, FILE)
    with open(served, "wb") as file:
        file.truncate(size)
    os.utime(served, (0, 0))  # nginx tells it the client


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


def listener_of(server: subprocess.Popen[bytes]) -> socket.socket:
    """The socket on which the server listens, as a socket of our own; waits until it does."""
    while server.poll() is None:
        for each in kernel.sockets_of(server.pid):
            if listens(each):
                return each
        time.sleep(POLL_S)
    raise RunError("nginx ended before it served")


def connection_of(server: subprocess.Popen[bytes]) -> socket.socket:
    """The one connection that the server has, as a socket of our own."""
    (connection,) = (each for each in kernel.sockets_of(server.pid) if not listens(each))
    return connection


def listens(endpoint: socket.socket) -> bool:
    """Whether it is a listening socket, and no connection."""
    return bool(endpoint.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN))
