"""Two hosts and a switch. Each link delays what it carries by 5 ms."""

from mininet.link import TCLink
from mininet.net import Mininet
from mininet.topo import Topo


class TwoHosts(Topo):
    """h1 -- s1 -- h2"""

    def build(self) -> None:
        switch = self.addSwitch("s1")
        for name in ("h1", "h2"):
            self.addLink(self.addHost(name), switch, delay="5ms")


topos = {"two_hosts": TwoHosts}

if __name__ == "__main__":
    net = Mininet(topo=TwoHosts(), link=TCLink)
    net.start()
    h1, h2 = net.get("h1", "h2")
    print(h1.cmd("ping -c 4", h2.IP()))
    net.stop()
