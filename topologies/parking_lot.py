"""Parking lot: several bottlenecks in a row, with cross traffic on each.

    s1 -- r1 ==hop1== r2 ==hop2== r3 ... r(H+1) -- d1      the long path
           |           |           |
          s2        d2, s3      d3, s4 ...                 crosses hop1, hop2, ...

s1 to d1 crosses all H hops; s(k+1) to d(k+1) crosses hop k alone.
Router rI serves 10.I.0.0/16; its hosts are 10.I.J.1, its side of their links
10.I.J.254. Link hopK is 10.0.K.0/24.
"""

from __future__ import annotations

import sys
from typing import Annotated

from mininet.topo import Topo

sys.path.append(".")  # for `mn --custom`, in the checkout: it tells a file nothing of its place
from topologies.router import Router

MOST_HOPS = 50  # Linux sends packets that pass 64 routers


class ParkingLot(Topo):
    """Bottlenecks hop1, hop2, ..."""

    def build(
        self,
        hops: Annotated[
            int,
            "bottlenecks in a row, hop1, hop2, ...; s1 and d1 at its ends, s2 and d2 around hop1, "
            "and so on; 1 to 50",
        ] = 2,
    ) -> None:
        if hops < 1:
            raise ValueError(f"write 1 or more hops, not {hops}")
        if hops > MOST_HOPS:
            raise ValueError(f"a packet's TTL ends on so long a path: at most {MOST_HOPS} hops")
        last = hops + 1
        for i in range(1, last + 1):
            routes = [(f"10.{j}.0.0/16", f"10.0.{i - 1}.1") for j in range(1, i)]
            routes += [(f"10.{j}.0.0/16", f"10.0.{i}.2") for j in range(i + 1, last + 1)]
            # The links in between too, so that routers answer a ping.
            routes += [(f"10.0.{k}.0/24", f"10.0.{i - 1}.1") for k in range(1, i - 1)]
            routes += [(f"10.0.{k}.0/24", f"10.0.{i}.2") for k in range(i + 1, last)]
            self.addHost(f"r{i}", cls=Router, routes=routes)
        for k in range(1, hops + 1):
            self.addLink(
                f"r{k}",
                f"r{k + 1}",
                bottleneck=f"hop{k}",
                params1={"ip": f"10.0.{k}.1/24"},
                params2={"ip": f"10.0.{k}.2/24"},
            )
        self.attached: dict[int, int] = {}
        self.attach("s1", 1)
        self.attach("d1", last)
        for k in range(1, hops + 1):
            self.attach(f"s{k + 1}", k)
            self.attach(f"d{k + 1}", k + 1)

    def attach(self, host: str, router: int) -> None:
        """Put `host` on the next free access network of router number `router`."""
        number = self.attached[router] = self.attached.get(router, 0) + 1
        subnet = f"10.{router}.{number}"
        self.addHost(host, ip=f"{subnet}.1/24", defaultRoute=f"via {subnet}.254")
        self.addLink(host, f"r{router}", params2={"ip": f"{subnet}.254/24"})


topos = {"parking_lot": ParkingLot}
