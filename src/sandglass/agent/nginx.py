"""nginx as an experiment's web server.

One process for each flow, started before time zero. It serves files by Debian's sendfile and
tcp_nopush, with a fixed date; their contents take no room (holes) unless they are given.

nginx does not choose a congestion control. The agent takes its listening socket and chooses one
there: connections that a socket accepts have the same. The connections, too, the agent takes, for
what the kernel counts there.
"""

from __future__ import annotations

import contextlib
import os
import select
import socket
import subprocess
import tempfile
import time
from typing import TYPE_CHECKING

from sandglass.agent import kernel, tcp
from sandglass.agent.failure import RunError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from sandglass.agent.plan import Flow

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
    server {{ listen {place}; root .; }}
}}
"""


@contextlib.contextmanager
def serving(
    flow: Flow, files: Mapping[str, int | bytes], address: str, port: int
) -> Iterator[subprocess.Popen[bytes]]:
    """nginx on the flow's source, with its congestion control.

    `files` are their sizes in bytes, or their contents, by their names.
    """
    with tempfile.TemporaryDirectory() as directory:
        write_files(directory, files, address, port)
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


def write_files(directory: str, files: Mapping[str, int | bytes], address: str, port: int) -> None:
    """Leave nginx its configuration, and what is to be served."""
    with open(os.path.join(directory, "nginx.conf"), "w") as file:
        file.write(CONFIGURATION.format(place=place(address, port)))
    for name, content in files.items():
        path = os.path.join(directory, name)
        with open(path, "wb") as served:
            if isinstance(content, int):
                served.truncate(content)
            else:
                served.write(content)
        os.utime(path, (0, 0))  # nginx tells it the client


def place(address: str, port: int) -> str:
    """Address and port as they stand in a URL (RFC 3986, section 3.2.2)."""
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"


def listener_of(server: subprocess.Popen[bytes]) -> socket.socket:
    """The socket on which the server listens, as a socket of our own; waits until it does."""
    while server.poll() is None:
        for each in kernel.sockets_of(server.pid):
            if listens(each):
                return each
        time.sleep(POLL_S)
    raise RunError("nginx ended before it served")


@contextlib.contextmanager
def connections_of(server: subprocess.Popen[bytes]) -> Iterator[list[socket.socket]]:
    """The connections that the server has, as sockets of our own."""
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(each) for each in kernel.sockets_of(server.pid)]
        yield [each for each in sockets if not listens(each)]


def wait_for_end(connection: socket.socket) -> None:
    """Wait for the client's FIN; with it has come the last acknowledgement."""
    select.select([connection], [], [])


def listens(endpoint: socket.socket) -> bool:
    """Whether it is a listening socket, and no connection."""
    return bool(endpoint.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN))
