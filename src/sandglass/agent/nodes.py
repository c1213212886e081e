"""Mininet nodes and links that start no process until somebody asks for one.

Mininet runs one interactive shell a node and configures it by talking to that
shell. Here a node is a named network namespace, addresses and routes are given
to `ip` in one batch a node, and the shell starts with the first `cmd`: a
network of twenty nodes is up in a tenth of the time, and everything that works
at a Mininet prompt still does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from mininet.link import Intf, Link
from mininet.net import Mininet
from mininet.node import Node, Switch

from sandglass.agent import kernel

if TYPE_CHECKING:
    from mininet.topo import Topo


class QuietIntf(Intf):
    """An interface whose addresses are set later, with those of its node."""

    def config(
        self, ip: str | None = None, mac: str | None = None, **params: Any
    ) -> dict[str, Any]:
        if mac:
            self.mac = mac
        if ip:
            self.setIP(ip)
        return {}

    def setIP(self, ipstr: str, prefixLen: Any = None) -> None:
        self.ip, _, length = ipstr.partition("/")
        self.prefixLen = int(length or prefixLen)


class VethLink(Link):
    """A veth pair, made in place: no interface ever shows in the agent's own namespace.

    Attributes:
        wanted: lines for `ip -batch` that make the pairs of a network, all in one process.
        made: pairs so far.
    """

    wanted: ClassVar[list[str]] = []
    made: ClassVar[int] = 0

    def __init__(
        self,
        node1: Node,
        node2: Node,
        addr1: str | None = None,
        addr2: str | None = None,
        **params: Any,
    ) -> None:
        # Addresses by number: those that Mininet or the kernel would draw are random.
        VethLink.made += 1
        high, low = divmod(VethLink.made, 256)
        super().__init__(
            node1,
            node2,
            addr1=f"02:00:00:01:{high:02x}:{low:02x}",
            addr2=f"02:00:00:02:{high:02x}:{low:02x}",
            cls1=QuietIntf,
            cls2=QuietIntf,
            **params,
        )

    @classmethod
    def makeIntfPair(
        cls,
        intfname1: str,
        intfname2: str,
        addr1: str | None = None,
        addr2: str | None = None,
        node1: Any = None,
        node2: Any = None,
        deleteIntfs: bool = True,
    ) -> None:
        ends = []
        for name, node, mac in ((intfname1, node1, addr1), (intfname2, node2, addr2)):
            place = ["netns", node.name] if node.inNamespace else []
            ends.append(["name", name, "address", mac, *place])
        cls.wanted.append(" ".join(["link", "add", *ends[0], "type", "veth", "peer", *ends[1]]))


class LazyNode(Node):
    """Mixed into a Mininet node class: namespace now, shell when needed."""

    inNamespace: bool
    namespace: str | None

    def startShell(self, mnopts: str | None = None) -> None:
        self.namespace = self.name if self.inNamespace else None
        if self.inNamespace:
            kernel.create_namespace(self.name)

    def open_shell(self) -> None:
        if self.shell:
            return
        in_namespace, self.inNamespace = self.inNamespace, False  # it is entered, not made
        try:
            with kernel.namespace(self.namespace):
                super().startShell()
        finally:
            self.inNamespace = in_namespace

    def sendCmd(self, *args: Any, **kwargs: Any) -> Any:
        self.open_shell()
        return super().sendCmd(*args, **kwargs)

    def cmd(self, *args: Any, **kwargs: Any) -> Any:
        self.open_shell()
        return super().cmd(*args, **kwargs)

    def popen(self, *args: Any, **kwargs: Any) -> Any:
        # As Mininet's, with the namespace entered by name instead of by the shell's pid.
        if self.inNamespace and "mncmd" not in kwargs:
            kwargs["mncmd"] = ["nsenter", f"--net={kernel.NETNS_DIRECTORY}/{self.name}"]
        return super().popen(*args, **kwargs)

    def terminate(self) -> None:
        super().terminate()
        if self.inNamespace:
            kernel.delete_namespace(self.name)


class LazyHost(LazyNode, Node):
    """A host or router; network.py gives it its addresses and routes in one batch."""

    def config(self, ip: str | None = None, **params: Any) -> dict[str, Any]:
        if ip and self.intfs and not self.defaultIntf().ip:
            self.defaultIntf().setIP(ip)
        return {}


def lazy(cls: type[Node] | None) -> type[Node]:
    """The lazy form of a topology's node class."""
    if cls is None or cls.__name__ in ("Node", "Host", "Router"):
        return LazyHost
    if issubclass(cls, Switch):
        return type("Lazy" + cls.__name__, (LazyNode, cls), {})
    # A class of the user's own: what its config() does comes after our batch.
    return type("Lazy" + cls.__name__, (LazyHost, cls), {"own_config": cls.config})


class LazyMininet(Mininet):
    """Mininet with lazy nodes and links made in place."""

    def __init__(self, topo: Topo) -> None:
        super().__init__(topo=topo, controller=None, link=VethLink, build=True)

    def buildFromTopo(self, topo: Topo | None = None) -> None:
        super().buildFromTopo(topo)
        kernel.batch("ip", VethLink.wanted)
        VethLink.wanted.clear()

    def addHost(self, name: str, cls: type[Node] | None = None, **params: Any) -> Node:
        return super().addHost(name, cls=lazy(cls), **params)

    def addSwitch(self, name: str, cls: type[Switch] | None = None, **params: Any) -> Switch:
        return super().addSwitch(name, cls=lazy(cls or self.switch), **params)
