"""A path: a fast link, a switch, and a slow link with a short queue.

h1 -- 100 Mb/s, 1 ms -- s1 -- 10 Mb/s, 9 ms, 20 packets -- h2
"""

from mininet.topo import Topo


class Path(Topo):
    """h1 sends to h2."""

    def build(self) -> None:
        h1, s1, h2 = self.addHost("h1"), self.addSwitch("s1"), self.addHost("h2")
        self.addLink(h1, s1, bw=100, delay="1ms")
        self.addLink(s1, h2, bw=10, delay="9ms", max_queue_size=20)


topos = {"path": Path}
