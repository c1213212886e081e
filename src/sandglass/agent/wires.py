"""Wires: links on which packets are transmitted and propagate.

The qdiscs of a link's two interfaces let a packet go when its transmission
starts. A wire has it arrive at the other end when it has been transmitted and
has propagated: each of the two interfaces ends in a namespace that is no node
of the network, where what comes from the one is handed to the other by way of
netem, with the link's rate, delay and impairments.

    node --+ interface        wire +-- end ==> netem, end --+ wire        interface +-- node

So every hop serialises and propagates by itself, exactly: packets leave a
link's queue at least a transmission apart, so that netem never has one wait.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sandglass.agent import interfaces
from sandglass.agent.links import NETEM_LIMIT, SHAPER, microseconds
from sandglass.agent.netlink import Rtnetlink

if TYPE_CHECKING:
    from sandglass.agent.plan import Way

NAMESPACE = "sandglass-wires"
LARGEST_MTU = 65535


def end(number: int, side: int) -> str:
    """The name of one of a wire's two ends; side 0 is that of the link's first node."""
    return f"wire{number}{'ab'[side]}"


def string(number: int, ends: tuple[tuple[str, str, str], tuple[str, str, str]]) -> None:
    """Put a wire between two interfaces, each given by name, MAC address and namespace."""
    with Rtnetlink(NAMESPACE) as link:
        for side, (name, mac, namespace) in enumerate(ends):
            own = end(number, side)
            address = f"02:00:00:{3 + side:02x}:{number >> 8:02x}:{number & 0xFF:02x}"
            interfaces.add_veth((name, mac, namespace), (own, address, NAMESPACE))
            interfaces.bring_up(link, own, LARGEST_MTU)
            interfaces.offloads_off(link, own)


def hand_over(number: int) -> list[str]:
    """tc lines that have what comes out of one end go into the other."""
    lines = []
    for side in (0, 1):
        own, other = end(number, side), end(number, 1 - side)
        lines += [
            f"qdisc add dev {own} clsact",
            f"filter add dev {own} ingress matchall action mirred egress redirect dev {other}",
        ]
    return lines


def element(
    number: int, side: int, way: Way, further_ns: int, verb: str, *, exact: bool = False
) -> str:
    """tc line for what a packet meets that leaves a wire at one side, `further_ns` besides.

    An `exact` one loses nothing and draws nothing, so that the network can be checked.
    """
    words = [f"delay {microseconds(way['delay_ns'] + further_ns)}"]
    if way["jitter_ns"] and not exact:
        words.append(microseconds(way["jitter_ns"]))
    if way["rate_bps"]:
        words.append(f"rate {way['rate_bps']}bit")
    if not exact:
        words += way["impairments"]
    return (
        f"qdisc {verb} dev {end(number, side)} root handle {SHAPER} netem "
        f"limit {NETEM_LIMIT} {' '.join(words)}"
    )


def renewed(number: int, side: int, way: Way, further_ns: int) -> list[str]:
    """tc lines for a new element that draws, or for the same one again.

    netem draws the seed of its random numbers as it is made, and keeps it when it is changed: what
    was drawn before, to build the network, would show in what a wire loses.
    """
    if not is_random(way):
        return [element(number, side, way, further_ns, "change")]
    gone = f"qdisc del dev {end(number, side)} root"
    return [gone, element(number, side, way, further_ns, "add")]


def is_random(way: Way) -> bool:
    """Whether anything of a wire is drawn."""
    return bool(way["jitter_ns"] or way["impairments"])
