from mininet.topo import Topo


class Plain(Topo):  # type: ignore[misc]
    def build(self) -> None:
        self.addLink(self.addHost("h1"), self.addHost("h2"), bw="fast")


topos = {"plain": Plain}
