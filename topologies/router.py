"""A Mininet node that forwards IP packets between its interfaces."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mininet.node import Node

if TYPE_CHECKING:
    from collections.abc import Sequence


class Router(Node):
    """Node parameter `routes`: list of (destination network, next hop) pairs."""

    def config(
        self, routes: Sequence[tuple[str, str]] = (), ip: str | None = None, **params: Any
    ) -> dict[str, Any]:
        # `ip` is the address Mininet gives every host; a router's addresses
        # belong to its interfaces.
        result: dict[str, Any] = super().config(**params)
        self.cmd("sysctl -w net.ipv4.ip_forward=1")
        for network, next_hop in routes:
            self.cmd(f"ip route add {network} via {next_hop}")
        return result
