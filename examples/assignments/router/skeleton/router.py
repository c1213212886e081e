"""Three subnets and one router: your part is marked with TODO."""

from mininet.cli import CLI
from mininet.net import Mininet
from mininet.node import Node


class Router(Node):
    """A host that forwards packets."""

    def config(self, **params):
        super().config(**params)
        # TODO: a host of Linux forwards nothing until it is told to


def main():
    net = Mininet(controller=None)
    router = net.addHost("r1", cls=Router, ip="10.0.1.1/24")
    for number in (1, 2, 3):
        host = net.addHost(f"h{number}", ip=f"10.0.{number}.100/24")
        net.addLink(
            host,
            router,
            intfName2=f"r1-eth{number}",
            params2={"ip": f"10.0.{number}.1/24"},
        )
        # TODO: how does h1 get to another subnet?
    net.start()
    CLI(net)  # leave this here: the grader looks at the network while it waits
    net.stop()


if __name__ == "__main__":
    main()
