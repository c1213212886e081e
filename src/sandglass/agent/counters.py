"""What the bottlenecks' queues have counted, at one instant.

Asked of the kernel by rtnetlink, without a program or a clock: in the lab that takes no virtual
time, where the processes of `tc -s` take some microseconds each.
"""

from __future__ import annotations

import socket
import struct
from typing import TYPE_CHECKING, Any

from sandglass.agent import links
from sandglass.agent.failure import RunError
from sandglass.agent.interfaces import index
from sandglass.agent.netlink import NLM_F_ECHO, Rtnetlink, attributes

if TYPE_CHECKING:
    from mininet.link import Intf

    from sandglass.agent.network import Network

# <linux/rtnetlink.h> and <linux/gen_stats.h>
RTM_GETQDISC = 38
TCA_STATS2 = 7
TCA_STATS_BASIC, TCA_STATS_QUEUE, TCA_STATS_APP, TCA_STATS_PKT64 = 1, 3, 4, 8
SUBJECT = struct.Struct("=BxxxiIII")  # struct tcmsg: family, interface, handle, parent, info


def of_queues(network: Network) -> list[dict[str, Any]]:
    """Counters of both directions of every bottleneck, in the order of recorder.queues_of.

    Keys: bytes and packets that were sent, drops, queued (packets), and xstats, the kind's own
    structure as hexadecimal digits.
    """
    return [
        _counters(getattr(bottleneck, direction))
        for _, bottleneck in network.recorded()
        for direction in ("forward", "reverse")
    ]


def _counters(interface: Intf) -> dict[str, Any]:
    told = asked(interface, RTM_GETQDISC, links.QUEUE, links.SHAPED_CLASS)
    stats = dict(attributes(told[TCA_STATS2]))
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


def asked(interface: Intf, request: int, handle: str, parent: str) -> dict[int, bytes]:
    """The attributes of a qdisc or a class, by TCA_* of <linux/rtnetlink.h>.

    Raises:
        RunError: there is none, or the kernel does not tell of it.
    """
    name = interface.name
    with Rtnetlink(interface.node.namespace) as link:
        place = index(link, name), _number(handle), _number(parent)
        question = SUBJECT.pack(socket.AF_UNSPEC, *place, 0)
        # without this flag older kernels tell only listeners
        answers = link.ask(f"{handle} of {name}", request, question, NLM_F_ECHO)
    if len(answers) != 1:
        raise RunError(f"{handle} of {name} on {interface.node.namespace} does not tell of itself")
    return dict(attributes(answers[0][SUBJECT.size :]))


def _number(handle: str) -> int:
    """A handle as the kernel has it: 10: is 0x100000."""
    major, _, minor = handle.partition(":")
    return int(major, 16) << 16 | int(minor or "0", 16)
