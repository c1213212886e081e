"""What a network is asked before an experiment is run on it."""

from __future__ import annotations

import itertools
import socket
import struct
import time
from typing import TYPE_CHECKING

from sandglass.agent import counters, kernel, links, tcp
from sandglass.agent.failure import RunError
from sandglass.agent.netlink import attributes
from sandglass.agent.plan import base_rtt_ns

if TYPE_CHECKING:
    from mininet.link import Intf

    from sandglass.agent.network import Network

ICMP_ECHO, ICMP_ECHO_REPLY = {4: 8, 6: 128}, {4: 0, 6: 129}  # by family: RFC 792, RFC 4443
PROTOCOL = {4: socket.IPPROTO_ICMP, 6: socket.IPPROTO_ICMPV6}
IP_HEADER = {4: 20, 6: 40}  # bytes
# One packet each way through every qdisc: clock reads of the two processes and
# rounding to nanoseconds, far less than any delay anybody sets.
RTT_TOLERANCE_NS = 20_000
# After boot. Up to its first tick, at 1 ms, Linux lets timers fire at ticks alone: delays end late.
TIMERS_EXACT_NS = 2_000_000
SWITCH_TRIES = 5
# <linux/rtnetlink.h>, <linux/pkt_sched.h>
RTM_GETTCLASS = 42
TCA_OPTIONS = 2
TCA_HTB_PARMS, TCA_HTB_RATE64 = 1, 6
SO_TIMESTAMPNS = 35  # <asm-generic/socket.h>
LEAST_TIMEOUT_S = 1e-9  # 0 stands for not waiting at all

_echoes = itertools.count()


def checksum(data: bytes) -> int:
    """Internet checksum (RFC 1071)."""
    total: int = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def echo_request(identifier: int, sequence: int, payload: bytes, family: int) -> bytes:
    """An ICMP echo request; `payload` has even length. The kernel sums up those of IPv6."""
    kind = ICMP_ECHO[family]
    header = struct.pack("!BBHHH", kind, 0, 0, identifier, sequence)
    total = checksum(header + payload) if family == 4 else 0
    return struct.pack("!BBHHH", kind, 0, total, identifier, sequence) + payload


def payload_of(packet: bytes, family: int) -> bytes:
    """What an ICMP message carries behind its header of 8 bytes; for IPv4 with the IP header."""
    return packet[4 * (packet[0] & 0xF) + 8 :] if family == 4 else packet[8:]


def is_answer(packet: bytes, request: bytes, family: int) -> bool:
    """Whether a packet is the reply to this echo request: all but type and checksum alike.

    A raw socket of IPv4 hands out its header too.
    """
    message = packet[4 * (packet[0] & 0xF) :] if family == 4 else packet
    return message[:1] == bytes([ICMP_ECHO_REPLY[family]]) and message[4:] == request[4:]


def ping(
    network: Network, source: str, destination: str, timeout_s: float = 60, family: int = 4
) -> int | None:
    """Round-trip time of one 64-byte echo from host to host, in ns; None when none came back.

    A host hands every ICMP packet to every socket like this one, also those of other echoes.
    """
    address = network.address(destination, family)
    # As identifiers 0, 1, ...: those of other programs are their process numbers, or random.
    request = echo_request(*divmod(next(_echoes), 1 << 16), bytes(56), family)
    with tcp.open_socket(source, socket.SOCK_RAW, PROTOCOL[family], family) as echo:
        echo.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
        echo.settimeout(timeout_s)
        offset = kernel.monotonic_to_realtime_ns()
        sent = time.clock_gettime_ns(kernel.CLOCK_MONOTONIC) + offset
        # Not connected: that would draw the packet's identification from the random numbers.
        echo.sendto(request, (address, 0))
        try:
            while True:
                packet, ancillary, _, (sender, *_) = echo.recvmsg(2048, 256)
                if sender == address and is_answer(packet, request, family):
                    break
                now = time.clock_gettime_ns(kernel.CLOCK_MONOTONIC) + offset
                echo.settimeout(max(timeout_s - (now - sent) / 1e9, LEAST_TIMEOUT_S))
        except TimeoutError:
            return None
    seconds, nanoseconds = struct.unpack("qq", ancillary[0][2][:16])
    rtt: int = seconds * 1_000_000_000 + nanoseconds - sent
    return rtt


def check_rtt(network: Network, exact: bool) -> dict[str, int]:
    """Ping every pair of hosts that a flow joins; returns round-trip times in ns by "from-to".

    Each in the families of its flows; the time is that of the first.

    Where `exact` (virtual time) the result has to be what the plan says: half
    a round trip at either end plus serialisation.

    Raises:
        RunError: no answer, or another round-trip time than the plan's.
    """
    if exact:
        kernel.sleep_until(TIMERS_EXACT_NS)
    measured: dict[str, int] = {}
    joined = ((flow["src"], flow["dst"], flow["family"]) for flow in network.plan["flows"])
    for source, destination, family in dict.fromkeys(joined):
        name = f"{source}-{destination}"
        wired_ns = network.wired_ns(source, destination)
        base = base_rtt_ns(network.plan, source, destination) + (wired_ns or 0)
        longest = base + _serialisation_ns(network, family) + RTT_TOLERANCE_NS
        rtt = None
        if not network.net.switches or _taught(network, source, destination, family):
            rtt = ping(network, source, destination, family=family)
            if exact and rtt is not None and rtt > longest and network.net.switches:
                # A switch's daemon may have been at work on its way, which reads the clock.
                rtt = ping(network, source, destination, family=family)
        if rtt is None:
            raise RunError(f"{destination} does not answer {source}")
        measured.setdefault(name, rtt)
        if exact and wired_ns is not None and not base <= rtt <= longest:
            raise RunError(
                f"round trip {name} is {rtt / 1e6:.6f} ms, the experiment says {base / 1e6:.6f} ms"
            )
    return measured


def _taught(network: Network, source: str, destination: str, family: int) -> bool:
    """Send echoes until the switches between two hosts forward; False when they never do.

    A switch that has just started loses or delays the first packets.
    """
    base_ns = base_rtt_ns(network.plan, source, destination)
    timeout_s = 1 + 2 * (base_ns + (network.wired_ns(source, destination) or 0)) / 1e9
    return any(
        ping(network, source, destination, timeout_s, family) is not None
        for _ in range(SWITCH_TRIES)
    )


def _serialisation_ns(network: Network, family: int) -> int:
    """Longest time an echo and its reply can spend on being transmitted."""
    size = 8 * (64 + IP_HEADER[family] + links.ETHERNET_HEADER) * 1_000_000_000
    longest: int = sum(
        size // planned[direction]["rate_bps"] + 1
        for planned in network.plan["bottlenecks"].values()
        for direction in ("forward", "reverse")
    ) + sum(
        2 * size // host["access_rate_bps"] + 1
        for host in network.plan["hosts"].values()
        if host["access_rate_bps"]
    )
    return longest


def shaped_bps(interface: Intf) -> int:
    """The rate in bit/s that the kernel shapes to, which counts in whole bytes."""
    told = counters.asked(interface, RTM_GETTCLASS, links.SHAPED_CLASS, links.SHAPER)
    options = dict(attributes(told[TCA_OPTIONS]))
    if TCA_HTB_RATE64 in options:
        (rate,) = struct.unpack("=Q", options[TCA_HTB_RATE64])
    else:  # the last member of the struct tc_ratespec that begins struct tc_htb_opt
        (rate,) = struct.unpack_from("=8xI", options[TCA_HTB_PARMS])
    return 8 * int(rate)


def check_links(network: Network) -> None:
    """Read back rate and queue of every bottleneck.

    Raises:
        RunError: the kernel has something else in force than the plan.
    """
    for name, bottleneck in network.bottlenecks.items():
        for direction in ("forward", "reverse"):
            interface = getattr(bottleneck, direction)
            planned = network.plan["bottlenecks"][name][direction]
            rate = shaped_bps(interface)
            if rate != planned["rate_bps"] // 8 * 8:
                raise RunError(
                    f"{name} {direction}: the kernel shapes to {rate} bit/s, "
                    f"the experiment says {planned['rate_bps']} bit/s"
                )
            shown = network.told[interface.node.namespace]
            kinds = {q["handle"]: q for q in shown if q.get("dev") == interface.name}
            queue = kinds.get(links.QUEUE)
            if not queue or queue["kind"] != planned["queue"]["kind"]:
                raise RunError(
                    f"{name} {direction}: the queue {planned['queue']['kind']} is not there"
                )
            limit = queue.get("options", {}).get("limit")
            wanted, unit = planned["queue"]["limit"], planned["queue"]["limit_unit"]
            if limit is not None and wanted not in (None, limit):
                raise RunError(
                    f"{name} {direction}: the kernel's queue holds {limit} {unit}, "
                    f"the experiment says {wanted}"
                )
