from mininet.node import OVSSwitch
from mininet.topo import Topo


class Ring(Topo):  # type: ignore[misc]
    def build(self) -> None:
        switches = [self.addSwitch(f"s{number}", cls=OVSSwitch) for number in (1, 2, 3)]
        for one, two in zip(switches, switches[1:] + switches[:1], strict=True):
            self.addLink(one, two)
        self.addLink(self.addHost("h1"), "s1")
        self.addLink(self.addHost("h2"), "s2")


topos = {"ring": Ring}
