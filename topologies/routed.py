"""Routed networks from their graph alone: addresses and shortest paths come by themselves.

A topology names routers, hosts and links; the base class gives each link between routers a /30 of
10.0.0.0/16, each host a /24 of 10.R.0.0/16 at its router, the R-th by name, and every router a
route to every host and link by the fewest hops, or by the least sum of the links' `cost`. Of
several such paths all are taken, flow by flow, with `ecmp`; else one, always the same.
"""

from __future__ import annotations

import heapq
import sys
from typing import Annotated, Any

from mininet.topo import Topo

sys.path.append(".")  # for `mn --custom`, in the checkout: it tells a file nothing of its place
from topologies.router import Router

MOST_ROUTERS = 255
MOST_HOSTS = 254  # at one router
MOST_LINKS = 1 << 14  # between routers

CommonRate = Annotated[float | None, "rate of all links in Mb/s; unlimited without"]
CommonDelay = Annotated[str | None, "one-way delay of all links, such as 5us"]


class Routed(Topo):
    """The base of topologies whose build() calls addRouter(), addHost() and addLink()."""

    ecmp = False
    """Whether routers spread flows over all shortest paths; may be set in build()."""

    def __init__(self, *args: Any, **params: Any) -> None:
        super().__init__(*args, **params)
        self._routers = [name for name in self.hosts() if "routes" in self.nodeInfo(name)]
        self._number = {name: number for number, name in enumerate(self._routers, start=1)}
        if len(self._routers) > MOST_ROUTERS:
            raise ValueError(f"write at most {MOST_ROUTERS} routers, not {len(self._routers)}")
        self._reached: dict[str, list[tuple[str, str, int]]] = {name: [] for name in self._routers}
        self._networks: dict[str, list[str]] = {name: [] for name in self._routers}
        self._address()
        for router in self._routers:
            self._route(router)

    def addRouter(self, name: str, **params: Any) -> str:  # noqa: N802 as Mininet names things
        """Add a node that forwards; its addresses and routes come by themselves."""
        added: str = self.addNode(name, cls=Router, routes=[], **params)
        return added

    def _address(self) -> None:
        """Give every end of a link its address, and hosts their default route."""
        backbone = 0
        attached: dict[str, int] = {}
        for _, _, link in self.links(sort=True, withInfo=True):
            one, two = link["node1"], link["node2"]
            routers = [name for name in (one, two) if name in self._number]
            if len(routers) == 2:
                if backbone == MOST_LINKS:
                    raise ValueError(f"write at most {MOST_LINKS} links between routers")
                subnet = f"10.0.{backbone >> 6}.{(backbone & 63) << 2}/30"
                ends = [f"10.0.{backbone >> 6}.{((backbone & 63) << 2) + host}" for host in (1, 2)]
                backbone += 1
                for end, (name, other) in enumerate(((one, two), (two, one))):
                    self._end(link, end, f"{ends[end]}/30")
                    self._networks[name].append(subnet)
                    cost = link.get("cost", 1)
                    self._reached[name].append((other, ends[1 - end], cost))
            elif len(routers) == 1:
                router = routers[0]
                host = two if one == router else one
                if "defaultRoute" in self.nodeInfo(host):
                    raise ValueError(f"host {host} has two links: give it one")
                number = attached[router] = attached.get(router, 0) + 1
                if number > MOST_HOSTS:
                    raise ValueError(f"write at most {MOST_HOSTS} hosts at {router}")
                network = f"10.{self._number[router]}.{number}"
                self._end(link, 0 if one == router else 1, f"{network}.254/24")
                self.nodeInfo(host).update(ip=f"{network}.1/24", defaultRoute=f"via {network}.254")
            else:
                raise ValueError(f"link {one}-{two} joins no router")

    @staticmethod
    def _end(link: dict[str, Any], end: int, address: str) -> None:
        key = f"params{end + 1}"
        link[key] = {**(link.get(key) or {}), "ip": address}

    def _route(self, source: str) -> None:
        """Routes of one router: Dijkstra's algorithm, with all first hops of equal paths."""
        cost = {source: 0.0}
        hops: dict[str, list[str]] = {source: []}
        waiting = [(0.0, self._number[source], source)]
        done = set()
        while waiting:
            so_far, _, node = heapq.heappop(waiting)
            if node in done:
                continue
            done.add(node)
            for other, address, step in self._reached[node]:
                first = [address] if node == source else hops[node]
                total = so_far + step
                if other not in cost or total < cost[other]:
                    cost[other], hops[other] = total, list(first)
                    heapq.heappush(waiting, (total, self._number[other], other))
                elif total == cost[other] and other not in done:
                    hops[other] += [each for each in first if each not in hops[other]]
        routes = self.nodeInfo(source)["routes"]
        near = set(self._networks[source])
        for other in self._routers:
            if other == source or other not in hops:
                continue
            through = hops[other] if self.ecmp else hops[other][:1]
            there = [f"10.{self._number[other]}.0.0/16"]
            there += [each for each in self._networks[other] if each not in near]
            near.update(self._networks[other])
            routes += [(network, " ".join(through)) for network in there]
