"""The network of a plan: a Mininet topology with its links, routes and host settings."""

from __future__ import annotations

import ipaddress
import os
from typing import TYPE_CHECKING, Any, NamedTuple

from mininet.log import setLogLevel

from sandglass.agent import draws, kernel, links, openvswitch, pyfile
from sandglass.agent.failure import RunError
from sandglass.agent.nodes import LazyMininet
from sandglass.agent.plan import DIRECTIONS

if TYPE_CHECKING:
    from mininet.link import Intf
    from mininet.node import Node, Switch
    from mininet.topo import Topo

    from sandglass.agent.plan import Direction, Plan, Step


class Bottleneck(NamedTuple):
    """The two interfaces of a bottleneck; packets queue at (interface.node, interface.name)."""

    name: str
    forward: Intf
    reverse: Intf


class Access(NamedTuple):
    """A host's link: the host's own interface, and the one that sends to the host."""

    host: str
    own: Intf
    to_host: Intf


def load_topology(path: str, params: dict[str, Any]) -> Topo:
    """The Mininet Topo object that the file at `path` builds from `params`.

    Raises:
        RunError: the file has no topos table, or its class refuses the parameters.
    """
    topos = getattr(pyfile.load(path, "experiment_topology"), "topos", None)
    if not topos:
        raise RunError(
            f"{os.path.basename(path)} defines no topology",
            "End it with: topos = {'name': TheTopoClass}",
        )
    return next(iter(topos.values()))(**params)


class Network:
    """A running network.

    Attributes:
        net: the Mininet object.
        bottlenecks: Bottleneck by name.
        access: Access by host name.
    """

    def __init__(self, plan: Plan, topology_path: str) -> None:
        self.plan = plan
        self._longer_ns = 0  # than the plan's round trips, where it has an rtt_spread
        setLogLevel("output")
        topo = load_topology(topology_path, plan["topology"]["params"])
        if topo.switches():
            openvswitch.start()
        self.net = LazyMininet(topo)
        self._find_links()
        self._mtu = {
            name: max(host["mtu"] for host in plan["hosts"].values()) for name in self.bottlenecks
        }
        for node in self.net.hosts:
            self._configure(node)
        for switch in self.net.switches:
            self._bring_ports_up(switch)
        self.net.start()
        for switch in self.net.switches:
            # After the start: a switch clears the qdiscs of the ports that it is given.
            kernel.batch("tc", self._access_lines(switch))
        for name, bottleneck in self.bottlenecks.items():
            planned = plan["bottlenecks"][name]
            for interface, direction in (
                (bottleneck.forward, planned["forward"]),
                (bottleneck.reverse, planned["reverse"]),
            ):
                kernel.batch(
                    "tc",
                    links.bottleneck(
                        interface.name, direction["rate_bps"], direction["queue"], self._mtu[name]
                    ),
                    interface.node.namespace,
                )

    def _find_links(self) -> None:
        self.bottlenecks: dict[str, Bottleneck] = {}
        self.access: dict[str, Access] = {}
        planned = self.plan["hosts"]
        for link in self.net.links:
            one, two = link.intf1, link.intf2
            name = one.params.get("bottleneck")
            if name:
                self.bottlenecks[name] = Bottleneck(name, one, two)
            for own, other in ((one, two), (two, one)):
                if own.node.name in planned:
                    self.access[own.node.name] = Access(own.node.name, own, other)
        missing = set(planned) - set(self.access)
        if missing:
            raise RunError(f"the topology links no network to {', '.join(sorted(missing))}")

    def bottleneck_rate_towards(self, node: Node, seen: tuple[Node, ...] = ()) -> int | None:
        """Rate in bit/s at which packets can reach `node` from the nearest bottlenecks, or None.

        The fastest, where several lead there: netem with that rate adds
        serialisation time and never queues.
        """
        rates = []
        for interface in node.intfList():
            link = interface.link
            if not link:  # a switch's loopback
                continue
            other = link.intf2 if link.intf1 is interface else link.intf1
            name = interface.params.get("bottleneck")
            if name:
                planned = self.plan["bottlenecks"][name]
                forward = other is self.bottlenecks[name].forward
                rates.append(planned["forward" if forward else "reverse"]["rate_bps"])
            elif other.node not in seen and (
                other.node in self.net.switches
                or (node in self.net.switches and "routes" in other.node.params)
            ):
                rates.append(self.bottleneck_rate_towards(other.node, (*seen, node)) or 0)
        return max(rates, default=0) or None

    def _access_lines(self, node: Node) -> list[str]:
        """tc lines for the interfaces on which `node` sends to a host."""
        return [
            self._delay(access, "add")
            for access in self.access.values()
            if access.to_host.node is node
        ]

    def _delay(self, access: Access, verb: str) -> str:
        """tc line for the delay on the way to a host."""
        planned = self.plan["hosts"][access.host]
        rates = [self.bottleneck_rate_towards(access.to_host.node), planned["access_rate_bps"]]
        rate = min((rate for rate in rates if rate), default=None)
        half_ns = planned["half_rtt_ns"] + self._longer_ns // 2
        return links.delay(access.to_host.name, half_ns, rate, verb)

    def _configure(self, node: Node) -> None:
        """Addresses, neighbours, routes, MTU and settings of one node."""
        planned = self.plan["hosts"].get(node.name)
        lines = ["link set lo up"]
        for interface in node.intfList():
            name = interface.name
            mtu = self._mtu_of(interface)
            lines.append(f"link set {name} mtu {mtu} up")
            if planned and planned["access_rate_bps"]:
                # TCP hands down several segments as one packet, which would leave all at once.
                lines.append(f"link set {name} gso_max_segs 1")
            if interface.ip:
                lines.append(f"addr add {interface.ip}/{interface.prefixLen} dev {name}")
                lines += [
                    # Permanent, so that no ARP packet ever waits in a measured queue.
                    f"neigh replace {ip} lladdr {mac} dev {name} nud permanent"
                    for ip, mac in self._neighbours(interface)
                ]
        lines += [f"route add {to} via {hop}" for to, hop in node.params.get("routes", ())]
        if node.params.get("defaultRoute"):
            options = ""
            if planned and planned["initcwnd"]:
                options += f" initcwnd {planned['initcwnd']}"
            if planned and not planned["delayed_ack"]:
                options += " quickack 1"
            lines.append(f"route add default {node.params['defaultRoute']}{options}")
        kernel.batch("ip", lines, node.namespace)
        for interface in node.intfList():
            kernel.offloads_off(interface.name, node.namespace)
        if "routes" in node.params:
            kernel.write_sysctl("net.ipv4.ip_forward", 1, node.namespace)
        tc_lines = self._access_lines(node)
        if planned:
            own = self.access[node.name].own.name
            tc_lines += links.network_card(
                own, planned["access_rate_bps"], planned["pacing"], planned["mtu"]
            )
            # What one flow learns must not change the next one.
            kernel.write_sysctl("net.ipv4.tcp_no_metrics_save", 1, node.namespace)
            # 100 us by default, in which a compressed ACK goes with any other interrupt, so that
            # whatever wakes the kernel would change when it goes: the recorder's samples too.
            kernel.write_sysctl("net.ipv4.tcp_comp_sack_slack_ns", 0, node.namespace)
            kernel.write_sysctl("net.ipv4.tcp_ecn", 1 if planned["ecn"] else 2, node.namespace)
            for name, value in planned["sysctls"].items():
                advice = self.plan["sysctl_advice"].get(name)
                kernel.write_sysctl(name, value, node.namespace, advice)
        kernel.batch("tc", tc_lines, node.namespace)
        if hasattr(node, "own_config"):
            node.own_config(**node.params)

    def _bring_ports_up(self, switch: Switch) -> None:
        ports = [interface for interface in switch.intfList() if interface.link]
        kernel.batch("ip", [f"link set {port.name} mtu {self._mtu_of(port)} up" for port in ports])
        for port in ports:
            kernel.offloads_off(port.name, switch.namespace)

    def _mtu_of(self, interface: Intf) -> int:
        """A host's MTU holds on both ends of its access link; elsewhere the largest one does."""
        for access in self.access.values():
            if interface in (access.own, access.to_host):
                return int(self.plan["hosts"][access.host]["mtu"])
        return max(int(host["mtu"]) for host in self.plan["hosts"].values())

    def _neighbours(
        self, interface: Intf
    ) -> list[tuple[ipaddress.IPv4Address | ipaddress.IPv6Address, str]]:
        """(address, MAC) of every other interface in the same subnet."""
        if not hasattr(self, "_addressed"):
            self._addressed = [
                (i, ipaddress.ip_interface(f"{i.ip}/{i.prefixLen}"))
                for node in self.net.hosts
                for i in node.intfList()
                if i.ip
            ]
        mine = ipaddress.ip_interface(f"{interface.ip}/{interface.prefixLen}").network
        return [
            (address.ip, other.mac)
            for other, address in self._addressed
            if other is not interface and address.network == mine
        ]

    def address(self, host: str) -> str:
        """IPv4 address of a host, as text."""
        ip: str = self.access[host].own.ip
        return ip

    def change(self, name: str, step: Step) -> None:
        """Apply one step of a bottleneck's schedule."""
        bottleneck = self.bottlenecks[name]
        planned = self.plan["bottlenecks"][name]
        rates: dict[Direction, int | None] = {
            "forward": step.get("forward_rate_bps"),
            "reverse": step.get("reverse_rate_bps"),
        }
        for direction, rate in rates.items():
            if rate:
                interface = getattr(bottleneck, direction)
                planned[direction]["rate_bps"] = rate
                kernel.batch(
                    "tc",
                    [links.change_rate(interface.name, rate, self._mtu[name])],
                    interface.node.namespace,
                )
        for host, access in self.access.items():
            settings = self.plan["hosts"][host]
            settings["half_rtt_ns"] = step.get("half_rtt_ns", {}).get(host, settings["half_rtt_ns"])
            kernel.batch("tc", [self._delay(access, "change")], access.to_host.node.namespace)

    def renewal(self, seed: int) -> dict[str | None, list[str]]:
        """tc lines, by network namespace, for a new run on this network.

        Every bottleneck gets a new, empty queue, and the paths get the round trip that `seed`
        draws.
        """
        lines: dict[str | None, list[str]] = {}
        for name, bottleneck in self.bottlenecks.items():
            planned = self.plan["bottlenecks"][name]
            for direction in DIRECTIONS:
                interface = getattr(bottleneck, direction)
                lines.setdefault(interface.node.namespace, []).extend(
                    links.renewed_queue(interface.name, planned[direction]["queue"])
                )
        spread_ns = self.plan["rtt_spread_ns"]
        if spread_ns:
            self._longer_ns = draws.uniform(seed, "rtt", 2 * spread_ns) - spread_ns
            for access in self.access.values():
                line = self._delay(access, "change")
                lines.setdefault(access.to_host.node.namespace, []).append(line)
        return lines

    def qdiscs(self) -> dict[str, list[dict[str, Any]]]:
        """What the kernel reports of the qdiscs: `tc -j` output by node.

        Nodes on which nothing was set up have none but noqueue, and are left out.
        """
        report = {}
        for node in [*self.net.hosts, *self.net.switches]:
            planned = self.plan["hosts"].get(node.name)
            if planned and not (planned["access_rate_bps"] or planned["pacing"]):
                continue
            where = node.namespace
            known = kernel.show_qdiscs("-s", "-d", "qdisc", "show", where=where)
            names = set(node.intfNames())
            shown = [q for q in known if q.get("dev") in names]
            shown = [q for q in shown if q["kind"] != "noqueue"]
            if shown:
                report[node.name] = shown
        return report
