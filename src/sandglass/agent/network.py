"""The network of a plan: a Mininet topology with its links, routes and host settings."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Any, NamedTuple

from mininet.log import setLogLevel

from sandglass.agent import (
    draws,
    interfaces,
    ipv6,
    kernel,
    links,
    noise,
    openvswitch,
    paths,
    pyfile,
    tc,
    wires,
)
from sandglass.agent.failure import RunError
from sandglass.agent.netlink import Rtnetlink
from sandglass.agent.nodes import LazyMininet, needs_openvswitch
from sandglass.agent.plan import DIRECTIONS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mininet.link import Intf
    from mininet.node import Node, Switch
    from mininet.topo import Topo

    from sandglass.agent.nodes import VethLink
    from sandglass.agent.plan import Direction, Plan, Step, Way, WireStep

MS = 1_000_000
SPANNED_NS = 14_000_000_000
"""After which bridges with a spanning tree forward."""


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
        tc: a running tc for each network namespace of routers and switches with qdiscs of ours.
        told: what these said once all qdiscs were there.
    """

    def __init__(self, plan: Plan, topology_path: str) -> None:
        self.plan = plan
        self._longer_ns = 0  # than the plan's round trips, where it has an rtt_spread
        self._noisy = False  # until the first run begins
        self._round_trip_changes = plan["rtt_spread_ns"] or any(
            "half_rtt_ns" in step
            for planned in plan["bottlenecks"].values()
            for step in planned["schedule"]
        )
        setLogLevel("output")
        topo = load_topology(topology_path, plan["topology"]["params"])
        self.net = LazyMininet(topo, plan["wires"])
        self._find_links()
        self._mtu = {
            name: max(host["mtu"] for host in plan["hosts"].values()) for name in self.bottlenecks
        }
        self._ipv6 = ipv6.wanted(plan)
        for node in self.net.hosts:
            self._configure(node)
        for switch in self.net.switches:
            self._bring_ports_up(switch)
        if self._ipv6:
            kernel.sleep_until(time.monotonic_ns() + ipv6.REPORTED_NS)
        self.tc: dict[str | None, tc.Tc] = {}
        if self.wires:  # before the switches look who is there
            self.tc[wires.NAMESPACE] = tc.Tc(wires.NAMESPACE)
            self.tc[wires.NAMESPACE].write(self._all_wire_lines())
            self.tc[wires.NAMESPACE].qdiscs()
        if needs_openvswitch(topo):
            openvswitch.start()  # not before: it looks at all ports whenever one changes
        self.net.start()
        if self.net.has_loops:
            kernel.sleep_until(time.monotonic_ns() + SPANNED_NS)
        # After the start: a switch clears the qdiscs of the ports that it is given.
        lines_by_namespace = self._tc_lines()
        self._with_qdiscs = list(lines_by_namespace)
        told = {end.node.namespace for each in self.bottlenecks.values() for end in each[1:]}
        told |= {each.to_host.node.namespace for each in self.access.values()}
        for where, lines in lines_by_namespace.items():
            if where in plan["hosts"] and where not in told:
                tc.carry_out(lines, where)
            else:
                self.tc[where] = tc.Tc(where)
                self.tc[where].write(lines)
        self.told = {where: running.qdiscs() for where, running in self.tc.items()}
        for node in self.net.hosts:
            if hasattr(node, "own_config"):
                node.own_config(**node.params)

    def _find_links(self) -> None:
        self.bottlenecks: dict[str, Bottleneck] = {}
        self.access: dict[str, Access] = {}
        self.wires: dict[str, VethLink] = {}
        planned = self.plan["hosts"]
        for name, link in zip(self.net.link_names, self.net.links, strict=True):
            one, two = link.intf1, link.intf2
            if name in self.plan["bottlenecks"]:
                self.bottlenecks[name] = Bottleneck(name, one, two)
            if link.wired:
                self.wires[name] = link
            for own, other in ((one, two), (two, one)):
                if own.node.name in planned:  # of several links the first, which has the address
                    self.access.setdefault(own.node.name, Access(own.node.name, own, other))
        self.bottlenecks = {name: self.bottlenecks[name] for name in self.plan["bottlenecks"]}
        missing = set(planned) - set(self.access)
        if missing:
            raise RunError(f"the topology links no network to {', '.join(sorted(missing))}")

    def recorded(self) -> Iterator[tuple[str, Bottleneck]]:
        """The bottlenecks, and those of the other links with a rate that are recorded."""
        for name, bottleneck in self.bottlenecks.items():
            if self.plan["bottlenecks"][name]["recorded"]:
                yield name, bottleneck

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
            line
            for access in self.access.values()
            if access.to_host.node is node and not access.own.link.wired
            for line in self._delay(access, "add")
        ]

    def _delay(self, access: Access, verb: str) -> list[str]:
        """tc line, if one is needed, for the delay on the way to a host."""
        planned = self.plan["hosts"][access.host]
        half_ns = planned["half_rtt_ns"] + self._longer_ns // 2
        rate = planned["access_rate_bps"]
        if self.plan["wires"] and not (half_ns or rate or self._round_trip_changes):
            return []
        if self.plan["wires"]:
            return [links.delay(access.to_host.name, half_ns, rate, verb)]
        rates = [self.bottleneck_rate_towards(access.to_host.node), rate]
        rate = min((rate for rate in rates if rate), default=None)
        return [links.delay(access.to_host.name, half_ns, rate, verb)]

    def _ends(self, name: str) -> Iterator[tuple[int, int, Way, int]]:
        """Of both ends of a wire, as wires.element takes them."""
        link, planned = self.wires[name], self.plan["wires"][name]
        ways = (planned["reverse"], link.intf1), (planned["forward"], link.intf2)
        for side, (way, own) in enumerate(ways):
            further_ns = 0
            for access in self.access.values():
                if access.own is own:
                    further_ns = self.plan["hosts"][access.host]["half_rtt_ns"]
                    further_ns += self._longer_ns // 2
            yield link.number, side, way, further_ns

    def _changed(self, name: str) -> list[str]:
        """tc lines that bring a wire to what it is to be now."""
        return [wires.element(*each, "change") for each in self._ends(name)]

    def _configure(self, node: Node) -> None:
        """Addresses, neighbours, routes, MTU and settings of one node."""
        planned = self.plan["hosts"].get(node.name)
        if self._ipv6:
            kernel.write_sysctls(ipv6.SETTINGS, node.namespace, {})
        with Rtnetlink(node.namespace) as link:
            interfaces.bring_up(link, "lo")
            for interface in node.intfList():
                name = interface.name
                # TCP hands down several segments as one packet, which would leave all at once.
                limited = planned and (planned["access_rate_bps"] or self._has_rate(interface))
                segments = 1 if limited else None
                interfaces.bring_up(link, name, self._mtu_of(interface), segments)
                interfaces.offloads_off(link, name)
                if interface.ip:
                    self._add_addresses(link, interface)
            for to, hops in node.params.get("routes", ()):
                self._add_route(link, to, {"via": hops})
            metrics = {}
            if planned and planned["initcwnd"]:
                metrics[interfaces.RTAX_INITCWND] = planned["initcwnd"]
            if planned and not planned["delayed_ack"]:
                metrics[interfaces.RTAX_QUICKACK] = 1
            if node.params.get("defaultRoute"):
                hop = interfaces.default_route(node.name, node.params["defaultRoute"])
                self._add_route(link, "default", hop, metrics)
            elif metrics:
                raise RunError(
                    f"{node.name} has no default route, which initcwnd and delayed_ack are set on",
                    "Give it one in the topology, by addHost's defaultRoute.",
                )
        settings: dict[str, int | str] = {}
        if "routes" in node.params:
            settings["net.ipv4.ip_forward"] = 1
            settings |= ipv6.FORWARDING if self._ipv6 else {}
            if any(" " in hops for _, hops in node.params["routes"]):
                settings["net.ipv4.fib_multipath_hash_policy"] = 1  # by ports too
                settings |= ipv6.ECMP if self._ipv6 else {}
        if planned:
            # What one flow learns must not change the next one.
            settings["net.ipv4.tcp_no_metrics_save"] = 1
            # 100 us by default, in which a compressed ACK goes with any other interrupt, so that
            # whatever wakes the kernel would change when it goes: the recorder's samples too.
            settings["net.ipv4.tcp_comp_sack_slack_ns"] = 0
            settings["net.ipv4.tcp_ecn"] = 1 if planned["ecn"] else 2
            settings |= planned["sysctls"]
        kernel.write_sysctls(settings, node.namespace, self.plan["sysctl_advice"])

    def _add_addresses(self, link: Rtnetlink, interface: Intf) -> None:
        """An interface's addresses, and its neighbours."""
        name, neighbours = interface.name, self._neighbours(interface)
        interfaces.add_address(link, name, interface.ip, interface.prefixLen)
        # Permanent, so that no ARP packet ever waits in a measured queue.
        interfaces.add_neighbours(link, name, neighbours)
        if self._ipv6:
            length = ipv6.PREFIX_LENGTH + interface.prefixLen
            interfaces.add_address(link, name, ipv6.address(interface.ip), length)
            behind = [(ipv6.address(address), mac) for address, mac in neighbours]
            interfaces.add_neighbours(link, name, behind)

    def _add_route(
        self, link: Rtnetlink, to: str, hop: dict[str, str], metrics: dict[int, int] | None = None
    ) -> None:
        interfaces.add_route(link, to, hop, metrics)
        if self._ipv6:
            interfaces.add_route(link, ipv6.destination(to), ipv6.hop(hop), metrics)

    def _bring_ports_up(self, switch: Switch) -> None:
        with Rtnetlink(switch.namespace) as link:
            for port in switch.intfList():
                if port.link:
                    interfaces.bring_up(link, port.name, self._mtu_of(port))
                    interfaces.offloads_off(link, port.name)

    def _tc_lines(self) -> dict[str | None, list[str]]:
        """What tc is told, by network namespace: access links, network cards, bottlenecks."""
        lines: dict[str | None, list[str]] = {}
        for node in [*self.net.hosts, *self.net.switches]:
            own = self._access_lines(node)
            if host := self.plan["hosts"].get(node.name):
                own += links.network_card(
                    self.access[node.name].own.name,
                    host["access_rate_bps"],
                    host["pacing"],
                    host["mtu"],
                )
            if own:
                lines.setdefault(node.namespace, []).extend(own)
        for name, bottleneck in self.bottlenecks.items():
            for direction in DIRECTIONS:
                interface = getattr(bottleneck, direction)
                planned = self.plan["bottlenecks"][name][direction]
                lines.setdefault(interface.node.namespace, []).extend(
                    links.bottleneck(
                        interface.name, planned["rate_bps"], planned["queue"], self._mtu[name]
                    )
                )
        return lines

    def _all_wire_lines(self) -> list[str]:
        """What tc is told of the wires."""
        lines = []
        for name, wire in self.wires.items():
            lines += wires.hand_over(wire.number)
            lines += [wires.element(*each, "add", exact=True) for each in self._ends(name)]
        return lines

    def _has_rate(self, interface: Intf) -> bool:
        return any(interface in (each.forward, each.reverse) for each in self.bottlenecks.values())

    def _mtu_of(self, interface: Intf) -> int:
        """A host's MTU holds on both ends of its access link; elsewhere the largest one does."""
        for access in self.access.values():
            if interface in (access.own, access.to_host):
                return int(self.plan["hosts"][access.host]["mtu"])
        return max(int(host["mtu"]) for host in self.plan["hosts"].values())

    def _neighbours(self, interface: Intf) -> list[tuple[str, str]]:
        """(address, MAC) of every other interface in the same subnet."""
        if not hasattr(self, "_subnets"):
            self._subnets: dict[tuple[int, int, int], list[Intf]] = {}
            for node in self.net.hosts:
                for one in node.intfList():
                    if one.ip:
                        self._subnets.setdefault(
                            interfaces.subnet(one.ip, one.prefixLen), []
                        ).append(one)
        same = self._subnets[interfaces.subnet(interface.ip, interface.prefixLen)]
        return [(other.ip, other.mac) for other in same if other is not interface]

    def address(self, host: str, family: int = 4) -> str:
        """Address of a host, as text, of IPv4 or, with 6 for the family, of IPv6."""
        ip: str | None = self.access[host].own.ip
        if ip is None:
            raise RunError(f"{host} has no address on {self.access[host].own.name}")
        return ipv6.address(ip) if family == 6 else ip

    def change(self, name: str, step: Step) -> None:
        """Apply one step of a bottleneck's schedule."""
        bottleneck = self.bottlenecks[name]
        planned = self.plan["bottlenecks"][name]
        rates: dict[Direction, int | None] = {
            "forward": step.get("forward_rate_bps"),
            "reverse": step.get("reverse_rate_bps"),
        }
        for direction, rate in rates.items():
            if rate and "trace" not in planned[direction]:
                interface = getattr(bottleneck, direction)
                planned[direction]["rate_bps"] = rate
                line = links.change_rate(interface.name, rate, self._mtu[name])
                self.tc[interface.node.namespace].write([line])
                if name in self.wires:
                    self.plan["wires"][name][direction]["rate_bps"] = rate
        if name in self.wires:
            lines = self._changed(name)
            self.tc[wires.NAMESPACE].write(lines)
        for host, access in self.access.items():
            settings = self.plan["hosts"][host]
            settings["half_rtt_ns"] = step.get("half_rtt_ns", {}).get(host, settings["half_rtt_ns"])
            if not access.own.link.wired and (lines := self._delay(access, "change")):
                self.tc[access.to_host.node.namespace].write(lines)
        if "half_rtt_ns" in step:
            for wire in self.wires.keys() - {name}:
                self.tc[wires.NAMESPACE].write(self._changed(wire))

    def change_wire(self, name: str, step: WireStep) -> None:
        """Apply one step of a wire's schedule."""
        self.plan["wires"][name]["forward"] = step["forward"]
        self.plan["wires"][name]["reverse"] = step["reverse"]
        self.tc[wires.NAMESPACE].write(self._changed(name))

    def renewal(self, seed: int, zero_ns: int) -> dict[str | None, list[str]]:
        """tc lines, by network namespace, for a new run on this network.

        Every bottleneck gets a new, empty queue, and the paths get the round trip that `seed`
        draws. From here on wires lose packets: those that checked the network all came through.
        Traces and noise begin at `zero_ns`, by CLOCK_MONOTONIC.
        """
        lines: dict[str | None, list[str]] = {}
        for name, bottleneck in self.bottlenecks.items():
            planned = self.plan["bottlenecks"][name]
            for direction in DIRECTIONS:
                interface = getattr(bottleneck, direction)
                own = links.renewed_queue(interface.name, planned[direction]["queue"])
                if trace := planned[direction].get("trace"):
                    start_ns = trace["start_ns"]
                    if start_ns is None:
                        period_ns = int(trace["opportunities"].rpartition(",")[2]) * MS
                        # One number for both ways: what was recorded together stays together.
                        start_ns = draws.whole(seed, f"trace of {name}") % period_ns
                    own = links.traced(
                        interface.name,
                        trace["opportunities"],
                        zero_ns - start_ns,
                        planned[direction]["queue"],
                    )
                lines.setdefault(interface.node.namespace, []).extend(own)
        spread_ns = self.plan["rtt_spread_ns"]
        if spread_ns:
            self._longer_ns = draws.uniform(seed, "rtt", 2 * spread_ns) - spread_ns
            for access in self.access.values():
                if not access.own.link.wired:
                    changed = self._delay(access, "change")
                    lines.setdefault(access.to_host.node.namespace, []).extend(changed)
        for name in self.wires:
            for each in self._ends(name):
                if spread_ns or wires.is_random(each[2]):
                    lines.setdefault(wires.NAMESPACE, []).extend(wires.renewed(*each))
        if "noise" in self.plan:
            added = noise.lines(self, seed, zero_ns, again=self._noisy)
            lines.setdefault(wires.NAMESPACE, []).extend(added)
            self._noisy = True
        return lines

    def wired_ns(self, source: str, destination: str) -> int | None:
        """What the delays of wires add to a round trip; None where there are several ways.

        Raises:
            RunError: there is no way at all.
        """
        if not self.wires:
            return 0
        ends = [(link.intf1.node.name, link.intf2.node.name) for link in self.net.links]
        graph = paths.neighbours(ends)
        if len(ends) >= len(graph):
            return None
        path = paths.shortest(graph, source, destination)
        if not path:
            raise RunError(f"no links lead from {source} to {destination}")
        names = {
            frozenset(pair): name for pair, name in zip(ends, self.net.link_names, strict=True)
        }
        crossed = (self.plan["wires"].get(names[frozenset(pair)]) for pair in path)
        return sum(
            wire["forward"]["delay_ns"] + wire["reverse"]["delay_ns"] for wire in crossed if wire
        )

    @staticmethod
    def _wire_ends(access: Access) -> list[str]:
        return [wires.end(access.own.link.number, side) for side in (0, 1)]

    def qdiscs(self) -> dict[str, list[dict[str, Any]]]:
        """What the kernel reports of the qdiscs: `tc -j -s -d` output by node.

        Nodes on which nothing was set up have none but noqueue, and are left out. Hosts have the
        noise of their links.
        """
        own = {node.namespace for node in self.net.hosts if hasattr(node, "own_config")}
        known = {
            where: (self.tc.get(where) or tc.Tc(where)).qdiscs()
            for where in dict.fromkeys([*self._with_qdiscs, *sorted(own)])
        }
        noisy = self.tc[wires.NAMESPACE].qdiscs() if "noise" in self.plan else []
        report = {}
        for node in [*self.net.hosts, *self.net.switches]:
            names = set(node.intfNames())
            shown = [q for q in known.get(node.namespace, ()) if q.get("dev") in names]
            shown = [q for q in shown if q["kind"] != "noqueue"]
            if node.name in self.access:
                ends = self._wire_ends(self.access[node.name])
                shown += [q for q in noisy if q["kind"] == "noise" and q["dev"] in ends]
            if shown:
                report[node.name] = shown
        return report
