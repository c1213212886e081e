"""What the links of a topology are called, and whether they form rings; outside of the lab too."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mininet.topo import Topo


def named_links(topo: Topo) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each link's name and what the topology gives it, node1 and node2 among that.

    It is called after its nodes, such as s1-r1, in the order in which the topology names them; a
    second one between the two is s1-r1:2.
    """
    seen: Counter[frozenset[str]] = Counter()
    for _, _, info in topo.links(sort=True, withInfo=True):
        one, two = info["node1"], info["node2"]
        ends = frozenset((one, two))
        seen[ends] += 1
        number = seen[ends]
        yield f"{one}-{two}" + (f":{number}" if number > 1 else ""), info


def has_loops(topo: Topo) -> bool:
    """Whether a packet could come back to a switch, by links between switches."""
    switches = set(topo.switches())
    group = {switch: switch for switch in switches}

    def first(switch: str) -> str:
        while group[switch] != switch:
            switch = group[switch]
        return switch

    for one, two in topo.links(sort=True):
        if one in switches and two in switches:
            if first(one) == first(two):
                return True
            group[first(one)] = first(two)
    return False
