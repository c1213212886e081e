"""TCP sockets: congestion control and struct tcp_info of <linux/tcp.h>."""

from __future__ import annotations

import errno
import socket
import struct

from sandglass.agent import kernel
from sandglass.agent.failure import RunError

# struct tcp_info up to and including tcpi_total_rto_time (Linux 6.7).
_FORMAT = "=8B 24I 4Q 6I 4Q 2I 2Q 6I 2H I"
_FIELDS = [
    "state",
    "ca_state",
    "retransmits",
    "probes",
    "backoff",
    "options",
    "wscale",
    "flags",
    "rto",
    "ato",
    "snd_mss",
    "rcv_mss",
    "unacked",
    "sacked",
    "lost",
    "retrans",
    "fackets",
    "last_data_sent",
    "last_ack_sent",
    "last_data_recv",
    "last_ack_recv",
    "pmtu",
    "rcv_ssthresh",
    "rtt",
    "rttvar",
    "snd_ssthresh",
    "snd_cwnd",
    "advmss",
    "reordering",
    "rcv_rtt",
    "rcv_space",
    "total_retrans",
    "pacing_rate",
    "max_pacing_rate",
    "bytes_acked",
    "bytes_received",
    "segs_out",
    "segs_in",
    "notsent_bytes",
    "min_rtt",
    "data_segs_in",
    "data_segs_out",
    "delivery_rate",
    "busy_time",
    "rwnd_limited",
    "sndbuf_limited",
    "delivered",
    "delivered_ce",
    "bytes_sent",
    "bytes_retrans",
    "dsack_dups",
    "reord_seen",
    "rcv_ooopack",
    "snd_wnd",
    "rcv_wnd",
    "rehash",
    "total_rto",
    "total_rto_recoveries",
    "total_rto_time",
]
SO_RCVBUFFORCE = 33  # <asm-generic/socket.h>
FAMILIES = {4: socket.AF_INET, 6: socket.AF_INET6}
LOOPBACK = {4: "127.0.0.1", 6: "::1"}
ECN_SEEN = 8  # TCPI_OPT_ECN: negotiated
ESTABLISHED = 1  # TCP_ESTABLISHED of <net/tcp_states.h>
GIVEN_UP = (errno.ETIMEDOUT, errno.EHOSTUNREACH, errno.ENETUNREACH)
"""Errors of a connection whose other end has not answered for as long as TCP tries: the last two
where a router has said why."""
NOT_CONNECTED, TIMED_OUT = "not connected", "connection timed out"
"""Why a flow is unfinished."""


def info(connection: socket.socket) -> dict[str, int]:
    """struct tcp_info of a connected socket, as a dict. Fields the kernel lacks are zero."""
    size = struct.calcsize(_FORMAT)
    raw = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, size)
    return dict(zip(_FIELDS, struct.unpack(_FORMAT, raw.ljust(size, b"\0")), strict=True))


def why_ended(connection: socket.socket) -> str | None:
    """Why a connection that is to be there is not: one of the words above; None: it is."""
    state = info(connection)
    if state["state"] == ESTABLISHED:
        return None
    return TIMED_OUT if state["bytes_acked"] else NOT_CONNECTED  # it counts the SYN


def congestion_control(connection: socket.socket) -> str:
    """Name of the congestion control a socket really uses."""
    raw = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16)
    return raw.split(b"\0")[0].decode()


def set_congestion_control(connection: socket.socket, name: str) -> None:
    """Choose a socket's congestion control.

    Raises:
        RunError: the kernel has none of that name; the message lists what it has.
    """
    try:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, name.encode())
    except OSError as error:
        available = kernel.read_sysctl("net.ipv4.tcp_available_congestion_control", None)
        raise RunError(
            f"congestion control {name}: {error.strerror}",
            f"This kernel has: {available}",
        ) from None


def draw_secrets(where: str | None = None, family: int = 4) -> None:
    """Make one connection, within the kernel, in network namespace `where`.

    With its first connection Linux draws the secrets that it keeps for all others; drawn in an
    experiment's first connection, they would shift what all later draws give. Some are of one
    family alone.
    """
    with open_socket(where, family=family) as listener, open_socket(where, family=family) as client:
        listener.bind((LOOPBACK[family], 0))
        listener.listen(1)
        client.connect(listener.getsockname())
        listener.accept()[0].close()


def open_socket(
    where: str | None, kind: int = socket.SOCK_STREAM, protocol: int = 0, family: int = 4
) -> socket.socket:
    """A socket that lives in network namespace `where`, whoever uses it; `family` is 4 or 6."""
    with kernel.namespace(where):
        return socket.socket(FAMILIES[family], kind, protocol)
