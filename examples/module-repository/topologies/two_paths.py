"""Two senders behind routers of their own, one bottleneck, one receiver each.

s1 -- a1 --+
           r1 == bottleneck == r2 -- d1, d2
s2 -- a2 --+
"""

from mininet.topo import Topo

from topologies.router import Router


class TwoPaths(Topo):
    """Takes no parameter."""

    def build(self) -> None:
        sides = {"r1": ("10.0.0.1", ["10.2.0.0/16"]), "r2": ("10.0.0.2", ["10.1.0.0/16"])}
        for router, (_, networks) in sides.items():
            other = sides["r2" if router == "r1" else "r1"][0]
            routes = [(network, other) for network in networks]
            routes += [(f"10.1.{i}.0/24", f"10.3.{i}.1") for i in (1, 2) if router == "r1"]
            self.addHost(router, cls=Router, routes=routes)
        ends = {f"params{n}": {"ip": f"10.0.0.{n}/24"} for n in (1, 2)}
        self.addLink("r1", "r2", bottleneck="bottleneck", **ends)
        for i in (1, 2):
            self.addHost(f"a{i}", cls=Router, routes=[("default", f"10.3.{i}.2")])
            self.addLink(
                f"a{i}", "r1", params1={"ip": f"10.3.{i}.1/24"}, params2={"ip": f"10.3.{i}.2/24"}
            )
            for side, router, network in (("s", f"a{i}", f"10.1.{i}"), ("d", "r2", f"10.2.{i}")):
                host = self.addHost(
                    f"{side}{i}", ip=f"{network}.1/24", defaultRoute=f"via {network}.254"
                )
                self.addLink(host, router, params2={"ip": f"{network}.254/24"})


topos = {"two_paths": TwoPaths}
