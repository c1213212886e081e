"""Interfaces of the network: made, brought up, given addresses, neighbours and routes."""

from __future__ import annotations

import ctypes
import fcntl
import functools
import os
import re
import socket
import struct
from typing import TYPE_CHECKING

from sandglass.agent import kernel
from sandglass.agent.failure import RunError
from sandglass.agent.netlink import (
    NLM_F_CREATE,
    NLM_F_EXCL,
    NLM_F_REPLACE,
    Rtnetlink,
    attribute,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

# <linux/rtnetlink.h>, <linux/if_link.h>, <linux/veth.h>, <linux/if_addr.h>, <linux/neighbour.h>
RTM_NEWLINK, RTM_NEWADDR, RTM_NEWROUTE, RTM_NEWNEIGH = 16, 20, 24, 28
IFLA_ADDRESS, IFLA_IFNAME, IFLA_MTU = 1, 3, 4
IFLA_LINKINFO, IFLA_NET_NS_FD, IFLA_GSO_MAX_SEGS = 18, 28, 40
IFLA_INFO_KIND, IFLA_INFO_DATA = 1, 2
VETH_INFO_PEER = 1
IFA_ADDRESS, IFA_LOCAL = 1, 2
IFA_F_NODAD = 0x02
NDA_DST, NDA_LLADDR = 1, 2
NUD_PERMANENT = 0x80
RTA_DST, RTA_OIF, RTA_GATEWAY, RTA_METRICS, RTA_MULTIPATH = 1, 4, 5, 8, 9
RTAX_INITCWND, RTAX_QUICKACK = 11, 15
RT_TABLE_MAIN, RTPROT_BOOT, RTN_UNICAST = 254, 3, 1
RT_SCOPE_UNIVERSE, RT_SCOPE_LINK = 0, 253
INTERFACE = struct.Struct("=BxHiII")  # struct ifinfomsg: family, type, index, flags, change
ADDRESS = struct.Struct("=BBBBi")  # struct ifaddrmsg: family, prefix length, flags, scope, index
NEIGHBOUR = struct.Struct("=BxxxiHBB")  # struct ndmsg: family, index, state, flags, type
# struct rtmsg: family, lengths of destination and source, TOS, table, protocol, scope, type, flags
ROUTE = struct.Struct("=BBBBBBBBI")
NEXTHOP = struct.Struct("=HBBi")  # struct rtnexthop: length, flags, weight less 1, interface
IFF_UP = 1
SIOCGIFINDEX = 0x8933  # <linux/sockios.h>
SIOCETHTOOL = 0x8946
# <linux/ethtool.h>
ETHTOOL_GSTRINGS, ETHTOOL_GSSET_INFO = 0x1B, 0x37
ETHTOOL_GFEATURES, ETHTOOL_SFEATURES = 0x3A, 0x3B
ETH_SS_FEATURES, ETH_GSTRING_LEN = 4, 32
FEATURE_WORD_BITS = 32
OFFLOAD = re.compile(r"tx-.*segmentation|tx-gso-.*|rx-(.*-)?gro(-.*)?|rx-lro")
"""Features by which several packets go through the network as one, larger than the link carries:
segmentation as late as at the card, and its inverse at the receiver. Scatter-gather and checksums
stay: with them a packet is laid out or summed up in another way, and is one packet."""


def index(link: Rtnetlink, name: str) -> int:
    """The number that the kernel knows an interface by.

    Raises:
        RunError: there is none of that name.
    """
    try:
        request = fcntl.ioctl(link.socket, SIOCGIFINDEX, struct.pack("16si20x", name.encode(), 0))
    except OSError as error:
        raise RunError(f"interface {name}{_of(link)}: {error.strerror}") from None
    number: int = struct.unpack_from("16si", request)[1]
    return number


def add_veth(*ends: tuple[str, str, str | None]) -> None:
    """Make a veth pair of two ends: name, MAC, network namespace.

    It is made in place: no end ever shows in the agent's own namespace.
    """
    files = [os.open(kernel.namespace_path(where), os.O_RDONLY) for _, _, where in ends]
    try:
        one, two = (
            INTERFACE.pack(socket.AF_UNSPEC, 0, 0, 0, 0)
            + attribute(IFLA_IFNAME, name)
            + attribute(IFLA_ADDRESS, bytes.fromhex(mac.replace(":", "")))
            + attribute(IFLA_NET_NS_FD, file)
            for (name, mac, _), file in zip(ends, files, strict=True)
        )
        pair = attribute(
            IFLA_LINKINFO,
            attribute(IFLA_INFO_KIND, "veth")
            + attribute(IFLA_INFO_DATA, attribute(VETH_INFO_PEER, two)),
        )
        what = f"cannot make the link of {ends[0][0]} and {ends[1][0]}"
        with Rtnetlink(None) as link:
            link.ask(what, RTM_NEWLINK, one + pair, NLM_F_CREATE | NLM_F_EXCL)
    finally:
        for file in files:
            os.close(file)


def bring_up(
    link: Rtnetlink, name: str, mtu: int | None = None, gso_max_segs: int | None = None
) -> None:
    """Bring an interface up; `mtu` in bytes, `gso_max_segs` in packets."""
    content = INTERFACE.pack(socket.AF_UNSPEC, 0, index(link, name), IFF_UP, IFF_UP)
    if mtu is not None:
        content += attribute(IFLA_MTU, mtu)
    if gso_max_segs is not None:
        content += attribute(IFLA_GSO_MAX_SEGS, gso_max_segs)
    link.ask(f"cannot bring {name}{_of(link)} up", RTM_NEWLINK, content)


def offloads_off(link: Rtnetlink, name: str) -> None:
    """Switch off all segmentation and receive offloads that an interface has.

    Raises:
        RunError: one is on afterwards.
    """
    count, offloads = _offloads()
    words = -(-count // FEATURE_WORD_BITS)
    mask = sum(1 << bit for bit in offloads)
    valid = (mask >> FEATURE_WORD_BITS * word & 0xFFFFFFFF for word in range(words))
    # struct ethtool_set_features_block: valid, requested
    chosen = b"".join(struct.pack("=II", word, 0) for word in valid)
    _ethtool(link.socket, name, struct.pack("=II", ETHTOOL_SFEATURES, words) + chosen)
    # struct ethtool_get_features_block: available, requested, active, never changed
    asked = struct.pack("=II", ETHTOOL_GFEATURES, words) + bytes(16 * words)
    told = struct.iter_unpack("=4I", _ethtool(link.socket, name, asked)[8:])
    active = [word for _, _, word, _ in told]
    left = [
        offload
        for bit, offload in offloads.items()
        if active[bit // FEATURE_WORD_BITS] >> bit % FEATURE_WORD_BITS & 1
    ]
    if left:
        raise RunError(f"cannot switch off {', '.join(left)} on {name}{_of(link)}")


@functools.cache  # one table for all interfaces
def _offloads() -> tuple[int, dict[int, str]]:
    """How many features the kernel knows, and which of them are offloads, by their bits."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as ours:
        asked = struct.pack("=IIQI", ETHTOOL_GSSET_INFO, 0, 1 << ETH_SS_FEATURES, 0)
        (count,) = struct.unpack_from("=I", _ethtool(ours, "lo", asked), len(asked) - 4)
        asked = struct.pack("=III", ETHTOOL_GSTRINGS, ETH_SS_FEATURES, count)
        told = _ethtool(ours, "lo", asked + bytes(ETH_GSTRING_LEN * count))[len(asked) :]
    strings = struct.iter_unpack(f"{ETH_GSTRING_LEN}s", told)
    names = (string.rstrip(b"\0").decode() for (string,) in strings)
    return count, {bit: name for bit, name in enumerate(names) if OFFLOAD.fullmatch(name)}


def _ethtool(ours: socket.socket, name: str, command: bytes) -> bytes:
    """What the kernel answers to a command of ETHTOOL_* for an interface of the socket's."""
    value = ctypes.create_string_buffer(command, len(command))
    request = struct.pack("16sP8x", name.encode(), ctypes.addressof(value))
    try:
        fcntl.ioctl(ours, SIOCETHTOOL, request)
    except OSError as error:
        raise RunError(f"the offloads of {name}: {error.strerror}") from None
    return value.raw


def add_address(link: Rtnetlink, name: str, address: str, prefix_length: int) -> None:
    """Give an interface an address, IPv4 or IPv6; nobody is asked whether he has it."""
    family, packed = _packed(address)
    flags = IFA_F_NODAD if family == socket.AF_INET6 else 0
    content = ADDRESS.pack(family, prefix_length, flags, 0, index(link, name))
    content += attribute(IFA_LOCAL, packed) + attribute(IFA_ADDRESS, packed)
    what = f"cannot give {name}{_of(link)} the address {address}/{prefix_length}"
    link.ask(what, RTM_NEWADDR, content, NLM_F_CREATE | NLM_F_EXCL)


def add_neighbours(link: Rtnetlink, name: str, neighbours: Iterable[tuple[str, str]]) -> None:
    """Tell for good which MAC each address behind an interface has."""
    number, requests = index(link, name), []
    for address, mac in neighbours:
        family, destination, hardware = _neighbour(address, mac)
        content = NEIGHBOUR.pack(family, number, NUD_PERMANENT, 0, 0) + destination + hardware
        requests.append((f"cannot tell {name}{_of(link)} of its neighbour {address}", content))
    link.tell(requests, RTM_NEWNEIGH, NLM_F_CREATE | NLM_F_REPLACE)


@functools.cache  # the same for all that are its neighbours
def _neighbour(address: str, mac: str) -> tuple[int, bytes, bytes]:
    """The family of an address, and the attributes of a neighbour."""
    family, packed = _packed(address)
    hardware = attribute(NDA_LLADDR, bytes.fromhex(mac.replace(":", "")))
    return family, attribute(NDA_DST, packed), hardware


def add_route(
    link: Rtnetlink, to: str, hop: Mapping[str, str], metrics: Mapping[int, int] | None = None
) -> None:
    """Add a route.

    Args:
        link: of the network namespace.
        to: an address, a subnet such as 10.2.0.0/16, or default, which for IPv6 is ::/0.
        hop: `via` an address, or `dev` an interface, or both; or `via` several addresses, with a
            blank between them, of which each takes some of the flows.
        metrics: RTAX_* of <linux/rtnetlink.h>.
    """
    what = f"cannot add a route{_of(link)} to {to} {' '.join(map(' '.join, hop.items()))}"
    destination, _, length = to.partition("/")
    hops = hop.get("via", "").split()
    family, target = _packed([*hops, "0.0.0.0"][0] if to == "default" else destination)
    bits = 0 if to == "default" else int(length or 8 * len(target))
    scope = RT_SCOPE_UNIVERSE if "via" in hop or family == socket.AF_INET6 else RT_SCOPE_LINK
    content = ROUTE.pack(family, bits, 0, 0, RT_TABLE_MAIN, RTPROT_BOOT, scope, RTN_UNICAST, 0)
    if bits:
        content += attribute(RTA_DST, target)
    if len(hops) > 1:
        nexthops = (attribute(RTA_GATEWAY, _packed(each)[1]) for each in hops)
        packed = (NEXTHOP.pack(NEXTHOP.size + len(each), 0, 0, 0) + each for each in nexthops)
        content += attribute(RTA_MULTIPATH, b"".join(packed))
    elif hops:
        content += attribute(RTA_GATEWAY, _packed(hops[0])[1])
    if "dev" in hop:
        content += attribute(RTA_OIF, index(link, hop["dev"]))
    if metrics:
        nested = b"".join(attribute(kind, value) for kind, value in metrics.items())
        content += attribute(RTA_METRICS, nested)
    link.ask(what, RTM_NEWROUTE, content, NLM_F_CREATE | NLM_F_EXCL)


def default_route(host: str, words: str) -> dict[str, str]:
    """Where a host's parameter `defaultRoute` leads, by `via` and `dev`.

    Raises:
        RunError: it is not said by these two.
    """
    hop = dict(zip(words.split()[::2], words.split()[1::2], strict=False))
    if len(words.split()) % 2 or not hop or not hop.keys() <= {"via", "dev"}:
        raise RunError(
            f"{host} has the default route {words!r}",
            "Write via and an address, or dev and an interface.",
        )
    return hop


def subnet(address: str, prefix_length: int) -> tuple[int, int, int]:
    """What the addresses of one subnet have in common: family, prefix length and prefix."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    packed = socket.inet_pton(family, address)
    return family, prefix_length, int.from_bytes(packed, "big") >> 8 * len(packed) - prefix_length


def _packed(address: str) -> tuple[int, bytes]:
    """The family of an address, and its bytes.

    Raises:
        RunError: it is none.
    """
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    try:
        return family, socket.inet_pton(family, address)
    except OSError:
        raise RunError(f"{address} is no address of a host") from None


def _of(link: Rtnetlink) -> str:
    return f" of {link.where}" if link.where else ""
