"""From an experiment to the plan that the guest carries out: plain numbers, nothing left open."""

import itertools
from collections.abc import Collection

from sandglass.agent import plan
from sandglass.agent.ipv6 import REPORTED_NS
from sandglass.agent.plan import DIRECTIONS, Plan
from sandglass.agent.recorder import QUEUE_INTERVAL_NS, STREAMS
from sandglass.errors import UsageError
from sandglass.experiment import own_files, qdiscs, workload
from sandglass.experiment.bottleneck import Bottleneck, Change, Reverse, ReverseChange
from sandglass.experiment.experiment import Experiment
from sandglass.experiment.flow import Flow
from sandglass.experiment.host_settings import HostSettings
from sandglass.experiment.link import Link
from sandglass.experiment.noise import MOST_NS, Noise
from sandglass.experiment.queue import Queue
from sandglass.experiment.sizes import RandomSize, planned
from sandglass.experiment.topology import TopologyFacts
from sandglass.experiment.trace import TracedRate
from sandglass.experiment.values import DEFAULT_RECORDS, RECORDS
from sandglass.install import builds
from sandglass.records.layouts import record_bytes
from sandglass.run import wires

ETHERNET_HEADER = 14  # the shaper counts it, but neither preamble nor checksum
LEAST_BUFFER = 16 * 10**6
LARGEST_BUFFER = 2**31 - 1  # tcp_rmem and tcp_wmem are ints
MIB = 2**20
PAGE = 4096
ZERO_NS = 30 * 10**9
"""Late enough for Open vSwitch, a spanning tree and the building of any network, and the same for
all but the largest: what happens before it cannot shift what comes after."""
SHORT_CHECK_NS = 6 * 10**9
"""Of the time before ZERO_NS: for the echoes that check the round trips, one after the other."""
DEFAULT_QUEUE = Queue.model_validate({"kind": "pfifo", "limit": "1000p"})
"""Before a link with a rate and no queue of its own: as before one of Mininet's."""


def resolve(experiment: Experiment, facts: TopologyFacts) -> Plan:
    """The plan for the guest: rates in bit/s, times in ns, sizes in bytes, queues in tc's words.

    A pure function: the same experiment and facts give the same plan, keys in the same order.
    """
    packet_bytes = _full_packet(experiment)
    shaped = experiment.shaped()
    bottlenecks = _bottlenecks(experiment, facts, shaped)
    recorded = {
        name: each
        for name, each in bottlenecks.items()
        if _is_recorded(experiment, shaped.get(name))
    }
    flows = _flows(experiment)
    wires_ns = wires.longest_ns(experiment, shaped)
    path_bytes = _path_bytes(experiment, bottlenecks, wires_ns, packet_bytes)
    hosts = _hosts(experiment, facts, path_bytes)
    whole: Plan = {
        "title": experiment.title,
        "seed": experiment.seed,
        "repeat": experiment.repeat,
        "duration_ns": experiment.duration,
        "topology": {
            "name": facts.name,
            "path": facts.path,
            "params": {key: facts.params[key] for key in sorted(facts.params)},
        },
        "rtt_spread_ns": experiment.spread_ns,
        "hosts": hosts,
        "bottlenecks": {
            name: {
                "recorded": name in recorded,
                "forward": _link(bottleneck.rate, bottleneck.queue, experiment.rtt, packet_bytes),
                "reverse": _link(
                    bottleneck.reverse_rate,
                    bottleneck.reverse.queue or bottleneck.queue,
                    experiment.rtt,
                    packet_bytes,
                ),
                "schedule": _schedule(
                    bottleneck,
                    # The round trip is the whole path's: one bottleneck's schedule changes it.
                    _halves_over_time(experiment, facts) if name in facts.bottlenecks[:1] else [],
                ),
            }
            for name, bottleneck in bottlenecks.items()
        },
        "wires": wires.of(experiment, bottlenecks, shaped),
        "workloads": _workloads(experiment),
        "flows": flows,
        "record": [stream for stream in streams(experiment.record) if stream == "acks" or recorded],
        "sysctl_advice": _sysctl_advice(experiment),
        "zero_ns": _zero_ns(flows, hosts, wires_ns),
        "memory_mb": _memory_mb(experiment, facts, recorded.values(), path_bytes, packet_bytes),
    }
    if experiment.own_files:
        whole["own_files"] = own_files.planned(experiment.own_files)
    if experiment.noise is not None and not experiment.noise.is_silent:
        whole["noise"] = _noise(experiment.noise, bottlenecks, packet_bytes)
    return whole


def _noise(noise: Noise, bottlenecks: dict[str, Bottleneck], packet_bytes: int) -> plan.Noise:
    phase = noise.phase
    if not isinstance(phase, int):
        # What a packet takes on the slowest link; the way of acknowledgements does not count.
        slowest = min(bottleneck.rate for bottleneck in bottlenecks.values())
        phase = min(8 * packet_bytes * 10**9 // slowest, MOST_NS["phase"])
    return {
        "phase_ns": phase,
        "host_ns": noise.host.quantiles,
        "nic_ns": noise.nic,
        "wan_ns": noise.wan,
        "wan_step_ns": noise.wan_step,
    }


def streams(record: list[str]) -> list[str]:
    """What the recorder has to record for the tables in `record`."""
    needed = {"acks" if name == "goodput" else name for name in named_tables(record)}
    return [name for name in STREAMS if name in needed]


def named_tables(record: list[str]) -> list[str]:
    """The tables that `record` names; if it names links alone, the usual ones."""
    named = [name for name in record if name in RECORDS]
    return named if named or not record else list(DEFAULT_RECORDS)


def _bottlenecks(
    experiment: Experiment, facts: TopologyFacts, shaped: dict[str, Link]
) -> dict[str, Bottleneck]:
    """All links with a rate: those that the topology names, and others."""
    found = {}
    if experiment.bottleneck is not None:
        for name in facts.bottlenecks:
            own = experiment.bottlenecks.get(name)
            found[name] = experiment.bottleneck.overridden(own)
    for name, link in shaped.items():
        there, back = link.forward, link.backward
        if there.rate is not None:
            found[name] = Bottleneck.model_construct(
                rate=there.rate,
                queue=there.queue or DEFAULT_QUEUE,
                reverse=Reverse.model_construct(rate=back.rate, queue=back.queue or DEFAULT_QUEUE),
                schedule=_rate_changes(link),
            )
    return found


def _is_recorded(experiment: Experiment, link: Link | None) -> bool:
    """A bottleneck (None) is; another link, if `record` names it or `links` gives it a queue."""
    if link is None:
        return True
    names = (link.name, link.turned_name)
    given = [experiment.links[called] for called in names if called in experiment.links]
    return any(called in experiment.record for called in names) or any(
        each.queue or each.reverse.queue for each in given
    )


def _rate_changes(link: Link) -> list[Change]:
    return [
        Change.model_construct(
            at=step.at,
            rate=step.forward.rate,
            reverse=ReverseChange.model_construct(rate=step.backward.rate),
        )
        for before, step in itertools.pairwise(link.states)
        if (before.forward.rate, before.backward.rate) != (step.forward.rate, step.backward.rate)
    ]


def half_rtts(
    hosts: list[str], partner: dict[str, str], base_ns: int, own_ns: dict[str, int]
) -> dict[str, int]:
    """The one-way delay in ns on the way to each host, so that partners' add up to their RTT.

    A host without an RTT of its own has its partner's, else `base_ns`. Of an odd number of ns the
    partner that comes second in `hosts` has the larger half.
    """
    halves: dict[str, int] = {}
    for host in hosts:
        other = partner.get(host, host)
        rtt = own_ns.get(host, own_ns.get(other, base_ns))
        halves[host] = rtt - rtt // 2 if other in halves else rtt // 2
    return halves


def _full_packet(experiment: Experiment) -> int:
    """Bytes on the wire of the largest full packet that a flow sends."""
    mtus = [
        min(_settings(experiment, flow.src).mtu, _settings(experiment, flow.dst).mtu)
        for flow in experiment.flows
    ]
    return max(mtus) + ETHERNET_HEADER


def _settings(experiment: Experiment, host: str) -> HostSettings:
    return experiment.hosts.get(host) or HostSettings()


def _hosts(experiment: Experiment, facts: TopologyFacts, path_bytes: int) -> dict[str, plan.Host]:
    own = {name: host.rtt for name, host in experiment.hosts.items() if host.rtt is not None}
    halves = half_rtts(facts.hosts, facts.partner, experiment.rtt, own)
    asks = {flow.opener for flow in experiment.flows if flow.kind.tcp and flow.asks_for_ecn}
    # Linux caps a connection's window by its buffers. A window grows to twice path and queue
    # before slow start notices a loss, and a packet occupies up to four times its size in a
    # buffer (truesize): 8 * (BDP + queue) leaves the window to the congestion control alone.
    largest = min(max(8 * path_bytes, LEAST_BUFFER), LARGEST_BUFFER)
    buffers = {
        "net.ipv4.tcp_rmem": f"4096 131072 {largest}",
        "net.ipv4.tcp_wmem": f"4096 16384 {largest}",
    }
    plans: dict[str, plan.Host] = {}
    for name in facts.hosts:
        host = _settings(experiment, name)
        sysctls = buffers | host.sysctls
        plans[name] = {
            "half_rtt_ns": halves[name],
            "mtu": host.mtu,
            "access_rate_bps": host.access_rate,
            "initcwnd": host.initcwnd,
            "delayed_ack": host.delayed_ack,
            "pacing": host.pacing,
            "ecn": name in asks,
            "sysctls": {key: sysctls[key] for key in sorted(sysctls)},
        }
    return plans


def _sysctl_advice(experiment: Experiment) -> dict[str, str]:
    """What modules take for the sysctls that hosts set, by name."""
    named = {name for host in experiment.hosts.values() for name in host.sysctls}
    return {
        sysctl.name: sysctl.advice
        for module in builds.described()
        for sysctl in module.sysctl
        if sysctl.name in named
    }


def _link(rate_bps: int, queue: Queue, rtt_ns: int, packet_bytes: int) -> plan.Link:
    link = qdiscs.Link(rate_bps, rtt_ns, packet_bytes)
    unit = qdiscs.limit_unit(queue.kind)
    limit = None if queue.limit is None else qdiscs.count(queue.limit, unit, link)
    options = [] if limit is None else ["limit", str(limit)]
    options += qdiscs.tc_words(queue.kind, queue.options, link)
    link_plan: plan.Link = {
        "rate_bps": int(rate_bps),
        "queue": {"kind": queue.kind, "limit": limit, "limit_unit": unit, "options": options},
    }
    if isinstance(rate_bps, TracedRate):
        replay = rate_bps.replay
        link_plan["trace"] = {
            "opportunities": replay.trace.listed,
            "start_ns": replay.start if isinstance(replay.start, int) else None,
        }
    return link_plan


def _schedule(bottleneck: Bottleneck, halves: list[plan.Step]) -> list[plan.Step]:
    """Changes of the rates, each with both rates as they then are, and of the round trip."""
    forward, reverse = bottleneck.rate, bottleneck.reverse_rate
    changes: list[plan.Step] = []
    for change in bottleneck.schedule:
        if change.rate is None and change.reverse is None:
            continue
        if change.rate is not None:
            forward = change.rate
            reverse = forward if bottleneck.reverse.rate is None else reverse
        if change.reverse is not None:
            reverse = change.reverse.rate
        changes.append(
            {"at_ns": change.at, "forward_rate_bps": forward, "reverse_rate_bps": reverse}
        )
    return sorted(changes + halves, key=lambda change: change["at_ns"])


def _halves_over_time(experiment: Experiment, facts: TopologyFacts) -> list[plan.Step]:
    """The changes of the base round trip, for the hosts that have none of their own."""
    own = {name for name, host in experiment.hosts.items() if host.rtt is not None}
    kept = own | {facts.partner[name] for name in own if name in facts.partner}
    changes: list[plan.Step] = []
    for change in experiment.bottleneck.schedule if experiment.bottleneck else ():
        if change.rtt is not None:
            halves = half_rtts(facts.hosts, facts.partner, change.rtt, {})
            moved = {name: half for name, half in halves.items() if name not in kept}
            changes.append({"at_ns": change.at, "half_rtt_ns": moved})
    return changes


def _flows(experiment: Experiment) -> list[plan.PlannedFlow]:
    each = [
        (flow, size) for flow in experiment.flows for _ in range(flow.count) for size in flow.sizes
    ]
    return [
        _flow(number, flow, size, experiment.duration)
        for number, (flow, size) in enumerate(each, start=1)
    ]


def _flow(number: int, flow: Flow, size: int | RandomSize | None, end: int) -> plan.PlannedFlow:
    lasts = flow.duration
    if lasts is None and not flow.bounded:
        lasts = end - flow.start
    return {
        "id": number,
        "workload": flow.workload,
        "src": flow.src,
        "dst": flow.dst,
        "family": flow.ip_version,
        "cc": flow.congestion_control,
        "ecn": flow.asks_for_ecn,
        "start_ns": flow.start,
        "start_within_ns": flow.start_within,
        "duration_ns": lasts,
        "size_bytes": None if size is None else planned(size),
        "options": flow.options,
    }


def _workloads(experiment: Experiment) -> dict[str, str]:
    """Each workload's file as the guest finds it.

    Raises UsageError when two files of the user's are called the same, or leave the same.
    """
    kinds = {flow.workload: flow.kind for flow in experiment.flows}
    paths = {kind.file: kind.path for kind in kinds.values()}
    for called, kind in kinds.items():
        if paths[kind.file] != kind.path:
            raise UsageError(
                f"{called} and {paths[kind.file]} are two workloads of one name", "Rename one."
            )
    if odds := workload.at_odds(kinds.values()):
        raise UsageError(odds, "Give one of them another name.")
    return {called: kind.file for called, kind in kinds.items()}


def _fastest(bottleneck: Bottleneck) -> int:
    """The highest rate of either direction at any time, in bit/s; of a trace, in any second."""
    rates = [
        max(rate, *rate.replay.trace.rates(1000), 0) if isinstance(rate, TracedRate) else rate
        for rate in bottleneck.rates
    ]
    for change in bottleneck.schedule:
        rates += [change.rate or 0, change.reverse.rate if change.reverse else 0]
    return max(rates)


def _path_bytes(
    experiment: Experiment,
    bottlenecks: dict[str, Bottleneck],
    wires_ns: int,
    packet_bytes: int,
) -> int:
    """The most that one flow may have in flight: the largest BDP and the longest queue."""
    rtts = [experiment.rtt, *(host.rtt or 0 for host in experiment.hosts.values())]
    if experiment.bottleneck is not None:
        rtts += [change.rtt or 0 for change in experiment.bottleneck.schedule]
    longest_rtt = max(rtts) + experiment.spread_ns + wires_ns
    most = 0
    for bottleneck in bottlenecks.values():
        rate = _fastest(bottleneck)
        queues = (bottleneck.queue, bottleneck.reverse.queue or bottleneck.queue)
        longest = max(_queue_bytes(queue, rate, experiment.rtt, packet_bytes) for queue in queues)
        most = max(most, -(-rate * longest_rtt // (8 * 10**9)) + longest)
    return most


def _zero_ns(flows: list[plan.PlannedFlow], hosts: dict[str, plan.Host], wires_ns: int) -> int:
    """When the experiment starts on the lab's clock, after the echoes of every pair of hosts."""
    pairs = {(flow["src"], flow["dst"], flow["family"]) for flow in flows}
    check_ns = sum(
        hosts[one]["half_rtt_ns"] + hosts[other]["half_rtt_ns"] + wires_ns
        for one, other, _ in pairs
    )
    if any(family == 6 for *_, family in pairs):
        check_ns += REPORTED_NS
    if check_ns <= SHORT_CHECK_NS:
        return ZERO_NS
    # Twice: what switches have to be taught, an echo before goes to.
    return ZERO_NS + -(-2 * check_ns // 10**9) * 10**9


def _queue_bytes(queue: Queue, rate_bps: int, rtt_ns: int, packet_bytes: int) -> int:
    if queue.limit is None:  # a thousand packets is the default of most kinds
        return 1000 * packet_bytes
    link = qdiscs.Link(rate_bps, rtt_ns, packet_bytes)
    unit = qdiscs.limit_unit(queue.kind)
    length = qdiscs.count(queue.limit, unit, link)
    return length if unit == "bytes" else length * packet_bytes


def _memory_mb(
    experiment: Experiment,
    facts: TopologyFacts,
    watched: Collection[Bottleneck],
    path_bytes: int,
    packet_bytes: int,
) -> int:
    """Memory of the lab in MiB: what the file says, or what its system, hosts, sockets and records
    need.

    Packets are those of links that are always full.
    """
    if experiment.memory is not None:
        return -(-experiment.memory // MIB)
    bits = sum(map(_fastest, watched)) * experiment.duration // 10**9
    packets = bits // 8 // packet_bytes
    for flow in experiment.flows:
        lasts = flow.duration or experiment.duration - flow.start
        packets += flow.count * flow.kind.packets(flow.options, lasts)
    flows = sum(flow.count * len(flow.sizes) for flow in experiment.flows)
    samples = len(watched) * len(DIRECTIONS) * experiment.duration // QUEUE_INTERVAL_NS
    recorded = _record_bytes(streams(experiment.record), packets, samples)
    needed = recorded + 4 * path_bytes * max(len(watched), 1)
    needed += sum(PAGE + file.size for file in experiment.own_files.values())
    return max(512, 256 + 8 * len(facts.hosts) + 4 * flows + -(-needed // MIB))


def _record_bytes(kept: list[str], packets: int, samples: int) -> int:
    """What records of these streams take when there is an ACK for each of so many packets.

    Both are recorded where they cross the bottleneck, and the ACK once more by the sender's TCP.
    """
    records = {"packets": 2 * packets, "headers": 2 * packets, "acks": packets, "queues": samples}
    return sum(records[stream] * record_bytes(stream) for stream in kept)
