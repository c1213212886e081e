"""Dumbbell whose access networks are Open vSwitch switches.

    s1 --+                                        +-- d1
    s2 --+-- sw1 -- r1 == bottleneck == r2 -- sw2 --+-- d2
    ...  |                                        |   ...
    sN --+                                        +-- dN

All senders share 10.1.0.0/16 and all receivers 10.2.0.0/16. The switches run
the kernel datapath without a controller: they learn addresses. The delay of a
pair is added where a switch sends to the host.
"""

from __future__ import annotations

import sys
from typing import Annotated

from mininet.node import OVSBridge
from mininet.topo import Topo

sys.path.append(".")  # for `mn --custom`, in the checkout: it tells a file nothing of its place
from topologies.router import Router

MOST_PAIRS = 250
BACKBONE = {"r1": "10.0.0.1", "r2": "10.0.0.2"}


class DumbbellOvs(Topo):
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
        for number, side, router in ((1, "s", "r1"), (2, "d", "r2")):
            switch = self.addSwitch(f"sw{number}", cls=OVSBridge)
            gateway = f"10.{number}.255.254"
            self.addLink(switch, router, params2={"ip": gateway + "/16"})
            for pair in range(1, pairs + 1):
                host = self.addHost(
                    f"{side}{pair}",
                    ip=f"10.{number}.{pair}.1/16",
                    defaultRoute=f"via {gateway}",
                )
                self.addLink(host, switch)


topos = {"dumbbell_ovs": DumbbellOvs}
