"""Mininet nodes and links that start no process until somebody asks for one.

Mininet runs one interactive shell a node and configures it by talking to that
shell. Here a node is a named network namespace, the kernel is told of addresses
and routes without a process, and the shell starts with the first `cmd`: a
network of twenty nodes is up in a tenth of the time, and everything that works
at a Mininet prompt still does.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, ClassVar

from mininet.link import Intf, Link
from mininet.net import Mininet
from mininet.node import Node, OVSSwitch, Switch
from mininet.util import numCores

from sandglass.agent import interfaces, kernel, openvswitch

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
        made: pairs so far.
    """

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
        assert addr1
        assert addr2
        interfaces.add_veth(
            (intfname1, addr1, node1.namespace), (intfname2, addr2, node2.namespace)
        )


class LazyNode(Node):
    """Mixed into a Mininet node class: namespace now, shell when needed."""

    inNamespace: bool
    namespace: str | None

    @classmethod
    def setup(cls) -> None:
        """What Mininet would look for, with a process each, we know to be there."""

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
    """A host or router; network.py gives it its addresses and routes."""

    def config(self, ip: str | None = None, **params: Any) -> dict[str, Any]:
        if ip and self.intfs and not self.defaultIntf().ip:
            self.defaultIntf().setIP(ip)
        return {}


class LazySwitch(LazyNode, Switch):
    """A switch of any kind."""

    def addIntf(self, intf: Intf, *args: Any, **options: Any) -> None:
        if intf.name == "lo":  # the agent's own, which is up: it takes no shell to say so
            intf.__class__ = QuietIntf
        super().addIntf(intf, *args, **options)


class LazyOvs(LazySwitch, OVSSwitch):
    """A switch of Open vSwitch; all of a network start with one command."""

    def __init__(self, name: str, **params: Any) -> None:
        super().__init__(name, **{"batch": True, **params})

    @classmethod
    def isOldOVS(cls) -> bool:
        return False  # 1.10 is of 2013

    @classmethod
    def batchStartup(cls, switches: Any, run: Any = openvswitch.in_shell) -> Any:
        return super().batchStartup(switches, run=run)


def lazy(cls: type[Node] | None) -> type[Node]:
    """The lazy form of a topology's node class, one for each: Mininet starts alike ones at once."""
    if cls not in _lazy:
        _lazy[cls] = _made_lazy(cls)
    return _lazy[cls]


_lazy: dict[type[Node] | None, type[Node]] = {}


def _made_lazy(cls: type[Node] | None) -> type[Node]:
    if cls is None or cls.__name__ in ("Node", "Host", "Router"):
        return LazyHost
    if issubclass(cls, OVSSwitch):
        return type("Lazy" + cls.__name__, (LazyOvs, cls), {})
    if issubclass(cls, Switch):
        return type("Lazy" + cls.__name__, (LazySwitch, cls), {})
    # A class of the user's own: what its config() does comes after ours.
    return type("Lazy" + cls.__name__, (LazyHost, cls), {"own_config": cls.config})


class LazyMininet(Mininet):
    """Mininet with lazy nodes and links made in place."""

    def __init__(self, topo: Topo) -> None:
        numCores.ncores = os.cpu_count()  # else it counts them with a process
        super().__init__(topo=topo, controller=None, link=VethLink, build=True)

    def addHost(self, name: str, cls: type[Node] | None = None, **params: Any) -> Node:
        return super().addHost(name, cls=lazy(cls), **params)

    def addSwitch(self, name: str, cls: type[Switch] | None = None, **params: Any) -> Switch:
        return super().addSwitch(name, cls=lazy(cls or self.switch), **params)
