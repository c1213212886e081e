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
from mininet.node import Node, OVSBridge, OVSSwitch, Switch
from mininet.nodelib import LinuxBridge
from mininet.util import numCores

from sandglass.agent import interfaces, kernel, openvswitch, wires
from sandglass.agent.names import has_loops, named_links

if TYPE_CHECKING:
    from collections.abc import Container

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

    With `wired` it is two pairs with a wire between them.

    Attributes:
        made: links so far.
        number: of this one.
        wired: as given.
    """

    made: ClassVar[int] = 0

    def __init__(
        self,
        node1: Node,
        node2: Node,
        addr1: str | None = None,
        addr2: str | None = None,
        wired: bool = False,
        **params: Any,
    ) -> None:
        # Addresses by number: those that Mininet or the kernel would draw are random.
        VethLink.made += 1
        self.number, self.wired = VethLink.made, wired
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

    def makeIntfPair(
        self,
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
        ends = (intfname1, addr1, node1.namespace), (intfname2, addr2, node2.namespace)
        if self.wired:
            wires.string(self.number, ends)
        else:
            interfaces.add_veth(*ends)


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
        # Without a controller it learns, as a switch does.
        super().__init__(name, **{"batch": True, "failMode": "standalone", **params})

    @classmethod
    def isOldOVS(cls) -> bool:
        return False  # 1.10 is of 2013

    @classmethod
    def batchStartup(cls, switches: Any, run: Any = openvswitch.in_shell) -> Any:
        return super().batchStartup(switches, run=run)


class Spanning(LinuxBridge):
    """A bridge for networks with loops, with timers as short as the protocol takes them.

    It forwards after some 10 s instead of 30 (IEEE 802.1D, 8.10.2: 2 (forward delay - 1) is at
    least the maximum age, which is at least 2 (hello time + 1)).
    """

    TIMES_S: ClassVar = {"setfd": 4, "setmaxage": 6, "sethello": 1}

    def __init__(self, name: str, **params: Any) -> None:
        super().__init__(name, **{"stp": True, **params})

    def start(self, controllers: Any) -> None:
        # As LinuxBridge does, but with the timers in force before the first port listens.
        self.cmd("brctl addbr", self)
        for command, seconds in self.TIMES_S.items():
            self.cmd("brctl", command, self, seconds)
        self.cmd("brctl setbridgeprio", self, self.prio)
        self.cmd("brctl stp", self, "on")
        for port in self.intfList():
            if port.link:
                self.cmd("brctl addif", self, port)
        self.cmd("ip link set", self, "up")


def learning(topo: Topo) -> type[Switch]:
    """What a switch is of which a topology does not say it: one that learns."""
    return Spanning if has_loops(topo) else OVSBridge


def needs_openvswitch(topo: Topo) -> bool:
    """Whether one of a topology's switches is one of Open vSwitch."""
    default = learning(topo)
    kinds = (topo.nodeInfo(switch).get("cls") or default for switch in topo.switches())
    return any(issubclass(kind, OVSSwitch) for kind in kinds)


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
    """Mininet with lazy nodes and links made in place.

    Attributes:
        link_names: what its links are called, in their order.
        has_loops: whether its switches are linked in a ring, so that they need a spanning tree.
    """

    def __init__(self, topo: Topo, wired: Container[str]) -> None:
        """`wired` has the names of the links that are wires, or of the bottlenecks that are."""
        numCores.ncores = os.cpu_count()  # else it counts them with a process
        self.link_names = [info.get("bottleneck", name) for name, info in named_links(topo)]
        self._wired = wired
        if any(name in wired for name in self.link_names):
            kernel.create_namespace(wires.NAMESPACE)
        switch = learning(topo)
        self.has_loops = switch is Spanning
        super().__init__(topo=topo, controller=None, switch=switch, build=True)

    def addLink(self, node1: Node, node2: Node, *args: Any, cls: Any = None, **params: Any) -> Link:
        # What a class of Mininet's would do with the parameters, network.py does by the plan.
        wired = self.link_names[len(self.links)] in self._wired
        return super().addLink(node1, node2, *args, cls=VethLink, wired=wired, **params)

    def addHost(self, name: str, cls: type[Node] | None = None, **params: Any) -> Node:
        return super().addHost(name, cls=lazy(cls), **params)

    def addSwitch(self, name: str, cls: type[Switch] | None = None, **params: Any) -> Switch:
        return super().addSwitch(name, cls=lazy(cls or self.switch), **params)
