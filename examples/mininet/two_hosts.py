"""Two hosts, a switch, and links of 10 Mb/s and 5 ms: what Mininet's users write.

./sandglass exec examples/mininet/two_hosts.py [MBIT_PER_S [DELAY]]
"""

import sys
from pathlib import Path

from mininet.link import TCLink
from mininet.net import Mininet
from mininet.topo import SingleSwitchTopo


def main(bw: float = 10, delay: str = "5ms") -> None:
    """Ping, then measure the rate, and keep both."""
    net = Mininet(
        topo=SingleSwitchTopo(k=2), link=lambda *a, **k: TCLink(*a, bw=bw, delay=delay, **k)
    )
    net.start()
    h1, h2 = net.get("h1", "h2")
    print(h1.cmd(f"ping -c 3 {h2.IP()}"))
    server, client = net.iperf((h1, h2), seconds=5)
    Path("two_hosts.txt").write_text(f"server {server}, client {client}\n")
    net.stop()


if __name__ == "__main__":
    main(*([float(sys.argv[1])] if len(sys.argv) > 1 else []), *sys.argv[2:3])
