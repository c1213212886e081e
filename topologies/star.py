"""Star: every host has its own bottleneck to a common core.

    h1 -- a1 ==arm1==+         +==arm3== a3 -- h3
                     |-- core --|
    h2 -- a2 ==arm2==+         +==arm4== a4 -- h4

Forward on an arm is from the core to the host (its download), reverse is from
the host to the core. hI is 10.I.1.1; link armI is 10.I.0.0/24.
"""

from __future__ import annotations

import sys
from typing import Annotated

from mininet.topo import Topo

sys.path.append(".")  # for `mn --custom`, in the checkout: it tells a file nothing of its place
from topologies.router import Router

MOST_ARMS = 250


class Star(Topo):
    """Hosts h1, h2, ... behind bottlenecks arm1, arm2, ..."""

    def build(
        self,
        arms: Annotated[
            int,
            "hosts h1, h2, ..., each behind a bottleneck of its own, arm1, arm2, ... "
            "Forward is towards the host. 2 to 250",
        ] = 3,
    ) -> None:
        if arms < 2:
            raise ValueError("a flow needs two hosts: at least 2 arms")
        if arms > MOST_ARMS:
            raise ValueError(f"write at most {MOST_ARMS} arms, not {arms}")
        numbers = range(1, arms + 1)
        self.addHost(
            "core", cls=Router, routes=[(f"10.{i}.0.0/16", f"10.{i}.0.2") for i in numbers]
        )
        for i in numbers:
            self.addHost(f"a{i}", cls=Router, routes=[("default", f"10.{i}.0.1")])
            self.addLink(
                "core",
                f"a{i}",
                bottleneck=f"arm{i}",
                params1={"ip": f"10.{i}.0.1/24"},
                params2={"ip": f"10.{i}.0.2/24"},
            )
            host = self.addHost(f"h{i}", ip=f"10.{i}.1.1/24", defaultRoute=f"via 10.{i}.1.254")
            self.addLink(host, f"a{i}", params2={"ip": f"10.{i}.1.254/24"})


topos = {"star": Star}
