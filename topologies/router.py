"""A Mininet node that forwards IP packets between its interfaces."""

from mininet.node import Node


class Router(Node):
    """Node parameter `routes`: list of (destination network, next hop) pairs."""

    def config(self, routes=(), ip=None, **params):
        # `ip` is the address Mininet gives every host; a router's addresses
        # belong to its interfaces.
        result = super().config(**params)
        self.cmd("sysctl -w net.ipv4.ip_forward=1")
        for network, next_hop in routes:
            self.cmd(f"ip route add {network} via {next_hop}")
        return result
