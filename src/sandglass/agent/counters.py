"""What the bottlenecks' queues have counted, at one instant.

Asked of the kernel by rtnetlink, without a program or a clock: in the lab that takes no virtual
time, where the processes of `tc -s` take some microseconds each.
"""

from __future__ import annotations

import socket
import struct
from typing import TYPE_CHECKING, Any

from sandglass.agent import kernel, links
from sandglass.agent.failure import RunError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mininet.link import Intf

    from sandglass.agent.network import Network

# <linux/rtnetlink.h>, <linux/netlink.h> and <linux/gen_stats.h>
RTM_NEWQDISC, RTM_GETQDISC = 36, 38
NLM_F_REQUEST, NLM_F_ECHO = 1, 8  # without the latter older kernels tell only listeners
TCA_STATS2 = 7
TCA_STATS_BASIC, TCA_STATS_QUEUE, TCA_STATS_APP, TCA_STATS_PKT64 = 1, 3, 4, 8
HEADER = struct.Struct("=IHHII")  # struct nlmsghdr: length, type, flags, sequence, port
SUBJECT = struct.Struct("=BxxxiIII")  # struct tcmsg: family, interface, handle, parent, info
ATTRIBUTE = struct.Struct("=HH")  # struct nlattr: length, type
LARGEST_ANSWER = 1 << 16


def of_queues(network: Network) -> list[dict[str, Any]]:
    """Counters of both directions of every bottleneck, in the order of recorder.queues_of.

    Keys: bytes and packets that were sent, drops, queued (packets), and xstats, the kind's own
    structure as hexadecimal digits.
    """
    return [
        _counters(getattr(bottleneck, direction))
        for bottleneck in network.bottlenecks.values()
        for direction in ("forward", "reverse")
    ]


def _counters(interface: Intf) -> dict[str, Any]:
    where = interface.node.namespace
    with (
        kernel.namespace(where),
        socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE) as rtnetlink,
    ):
        index = socket.if_nametoindex(interface.name)
        parent = _number(links.SHAPED_CLASS)
        question = SUBJECT.pack(socket.AF_UNSPEC, index, _number(links.QUEUE), parent, 0)
        size = HEADER.size + len(question)
        flags = NLM_F_REQUEST | NLM_F_ECHO
        rtnetlink.send(HEADER.pack(size, RTM_GETQDISC, flags, 0, 0) + question)
        answer = rtnetlink.recv(LARGEST_ANSWER)
    if HEADER.unpack_from(answer)[1] != RTM_NEWQDISC:
        raise RunError(f"the queue of {interface.name} on {where} does not tell its counters")
    stats = dict(_attributes(dict(_attributes(answer[HEADER.size + SUBJECT.size :]))[TCA_STATS2]))
    sent_bytes, packets = struct.unpack_from("=QI", stats[TCA_STATS_BASIC])
    if TCA_STATS_PKT64 in stats:  # there once the other has gone round
        (packets,) = struct.unpack("=Q", stats[TCA_STATS_PKT64])
    queued, _, drops = struct.unpack_from("=III", stats[TCA_STATS_QUEUE])
    return {
        "bytes": sent_bytes,
        "packets": packets,
        "drops": drops,
        "queued": queued,
        "xstats": stats.get(TCA_STATS_APP, b"").hex(),
    }


def _number(handle: str) -> int:
    """A handle as the kernel has it: 10: is 0x100000."""
    major, _, minor = handle.partition(":")
    return int(major, 16) << 16 | int(minor or "0", 16)


def _attributes(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Type and content of each attribute of a netlink message."""
    at = 0
    while at < len(data):
        length, kind = ATTRIBUTE.unpack_from(data, at)
        yield kind, data[at + ATTRIBUTE.size : at + length]
        at += -(-length // 4) * 4
