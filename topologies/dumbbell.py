"""Dumbbell: N senders and N receivers share one bottleneck.

    s1 --+                                +-- d1
    s2 --+-- r1 ====== bottleneck ====== r2 --+-- d2
    ...  |                                |   ...
    sN --+                                +-- dN

Access networks: sI is 10.1.I.1, dI is 10.2.I.1, the routers end in .254.
Half of a pair's base round trip is added where r2 sends to dI, half where r1
sends to sI: after the bottleneck, and never on the host that sends.
"""

from __future__ import annotations

import sys
from typing import Annotated

from mininet.topo import Topo

sys.path.append(".")  # for `mn --custom`, in the checkout: it tells a file nothing of its place
from topologies.router import Router

MOST_PAIRS = 250
BACKBONE = {"r1": "10.0.0.1", "r2": "10.0.0.2"}


class Dumbbell(Topo):
    """Senders s1, s2, ... and receivers d1, d2, ..."""

    def build(
        self,
        pairs: Annotated[int, "pairs of hosts, s1 and d1, s2 and d2, ...; 1 to 250"] = 1,
    ) -> None:
        if not 1 <= pairs <= MOST_PAIRS:
            raise ValueError(f"write 1 to {MOST_PAIRS} pairs, not {pairs}")
        self.addHost("r1", cls=Router, routes=[("10.2.0.0/16", BACKBONE["r2"])])
        self.addHost("r2", cls=Router, routes=[("10.1.0.0/16", BACKBONE["r1"])])
        self.addLink(
            "r1",
            "r2",
            bottleneck="bottleneck",
            params1={"ip": BACKBONE["r1"] + "/24"},
            params2={"ip": BACKBONE["r2"] + "/24"},
        )
        for pair in range(1, pairs + 1):
            for side, router, network in (("s", "r1", 1), ("d", "r2", 2)):
                subnet = f"10.{network}.{pair}"
                host = self.addHost(
                    f"{side}{pair}",
                    ip=f"{subnet}.1/24",
                    defaultRoute=f"via {subnet}.254",
                )
                self.addLink(host, router, params2={"ip": f"{subnet}.254/24"})


topos = {"dumbbell": Dumbbell}
