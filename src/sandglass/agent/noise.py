"""Noise of hosts: the qdisc noise where packets leave their wires, and what tc is told of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sandglass.agent import draws, wires
from sandglass.agent.links import SHAPED_CLASS

if TYPE_CHECKING:
    from sandglass.agent.network import Network
    from sandglass.agent.plan import Noise

HANDLE = "2:"


def lines(network: Network, seed: int, zero_ns: int, *, again: bool) -> list[str]:
    """tc lines for what all hosts send and receive, from `zero_ns` on, by CLOCK_MONOTONIC.

    `again`: in place of the noise of a run before. At an end of a wire between two hosts it is what
    the one sends and the other receives.
    """
    planned = network.plan["noise"]
    words: dict[tuple[int, int], list[str]] = {}
    names = dict(zip(network.net.links, network.net.link_names, strict=True))
    fresh = set()
    for access in network.access.values():
        link, card = access.own.link, network.plan["hosts"][access.host]["access_rate_bps"]
        if not link.wired:
            continue
        wire = network.plan["wires"][names[link]]
        ways = wire["reverse"], wire["forward"]
        side = int(access.own is link.intf2)
        sends, receives = (link.number, 1 - side), (link.number, side)
        words.setdefault(sends, []).extend(_sent(planned, ways[1 - side]["rate_bps"] or card))
        words.setdefault(receives, []).extend(_received(planned))
        fresh |= {(link.number, end) for end in (0, 1) if wires.is_random(ways[end])}
    made = []
    for (number, side), of_end in words.items():
        if of_end:
            place = f"dev {wires.end(number, side)} parent {SHAPED_CLASS} handle {HANDLE}"
            drawn = draws.whole(seed, f"noise at {wires.end(number, side)}")
            if again and (number, side) not in fresh:  # with a new element it has gone
                made.append(f"qdisc del {place}")
            made.append(f"qdisc add {place} noise seed {drawn} start {zero_ns} {' '.join(of_end)}")
    return made


def _sent(planned: Noise, rate_bps: int | None) -> list[str]:
    """Of a host that sends on a link of this rate."""
    words = [f"phase {planned['phase_ns']}"] if planned["phase_ns"] else []
    if planned["host_ns"]:
        words.append(f"host {','.join(map(str, planned['host_ns']))}")
    if words and rate_bps:
        words.append(f"rate {rate_bps}bit")
    return words


def _received(planned: Noise) -> list[str]:
    """Of a host that receives, and of the path that leads there."""
    words = [f"nic {planned['nic_ns']}"] if planned["nic_ns"] else []
    if planned["wan_ns"]:
        words.append(f"wan {planned['wan_ns']} wan_step {planned['wan_step_ns']}")
    return words
