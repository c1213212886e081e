"""Fat tree of k-port switches: k pods of k/2 edge and k/2 aggregation routers, (k/2)^2 cores.

    k = 4:      core1  core2          core3  core4          each core to one aggregation of each pod
               /  |  \\ ...
          agg1_1   agg1_2      ...      agg4_1   agg4_2
            |  \\  /  |
         edge1_1  edge1_2      ...     edge4_1   edge4_2
          / \\      / \\
         h1  h2   h3  h4       ...                   h16

Flows are spread over all shortest paths (ECMP). Hosts are numbered pod by pod. With more than k/2
hosts at an edge, their links together carry more than those above it.
Source: Al-Fares, Loukissas, Vahdat, A Scalable, Commodity Data Center Network Architecture, 2008.
"""

from __future__ import annotations

import sys
from typing import Annotated

sys.path.append(".")  # for `mn --custom`, in the checkout: it tells a file nothing of its place
from topologies.routed import CommonDelay, CommonRate, Routed


class FatTree(Routed):
    """Routers edgeP_I, aggP_I, coreI and hosts h1, h2, ..."""

    ecmp = True

    def build(
        self,
        k: Annotated[int, "ports of a router: 2, 4, 6, 8 or 10"] = 4,
        per_edge: Annotated[int | None, "hosts at each edge, 1 to 250; default: k/2"] = None,
        bw: CommonRate = None,
        delay: CommonDelay = None,
    ) -> None:
        if k not in (2, 4, 6, 8, 10):
            raise ValueError(f"k is {k}: write 2, 4, 6, 8 or 10")
        half, like = k // 2, {"bw": bw, "delay": delay}
        hosts = half if per_edge is None else per_edge
        if not 1 <= hosts <= 250:
            raise ValueError(f"per_edge is {hosts}: write 1 to 250")
        cores = [self.addRouter(f"core{number}") for number in range(1, half * half + 1)]
        for pod in range(1, k + 1):
            aggregations = [self.addRouter(f"agg{pod}_{i}") for i in range(1, half + 1)]
            for number, aggregation in enumerate(aggregations):
                for core in cores[number * half : (number + 1) * half]:
                    self.addLink(aggregation, core, **like)
            for i in range(half):
                edge = self.addRouter(f"edge{pod}_{i + 1}")
                for aggregation in aggregations:
                    self.addLink(edge, aggregation, **like)
                for port in range(1, hosts + 1):
                    host = ((pod - 1) * half + i) * hosts + port
                    self.addLink(self.addHost(f"h{host}"), edge, **like)


topos = {"fat_tree": FatTree}
