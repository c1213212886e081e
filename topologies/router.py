"""A Mininet node that forwards IP packets between its interfaces."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mininet.node import Node

if TYPE_CHECKING:
    from collections.abc import Sequence


class Router(Node):
    """Node parameter `routes`: list of pairs, a destination network and its next hop.

    Of several next hops, with a blank between them, each takes some of the flows.
    """

    def config(
        self, routes: Sequence[tuple[str, str]] = (), ip: str | None = None, **params: Any
    ) -> dict[str, Any]:
        # `ip` is the address Mininet gives every host; a router's addresses
        # belong to its interfaces.
        result: dict[str, Any] = super().config(**params)
        self.cmd("sysctl -w net.ipv4.ip_forward=1")
        self.cmd("sysctl -w net.ipv4.fib_multipath_hash_policy=1")
        for network, next_hops in routes:
            hops = next_hops.split()
            several = " ".join(f"nexthop via {hop}" for hop in hops)
            self.cmd(f"ip route add {network} {several if len(hops) > 1 else 'via ' + hops[0]}")
        return result
