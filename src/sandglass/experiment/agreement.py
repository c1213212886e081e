"""What the parts of an experiment must agree on, as far as they could be read."""

from collections.abc import Iterable, Mapping
from typing import Any

from sandglass.agent.ipv6 import LEAST_MTU
from sandglass.errors import nearest
from sandglass.experiment import units
from sandglass.experiment.bottleneck import Bottleneck, BottleneckOverride, Timed
from sandglass.experiment.flow import Flow, TcpFlow
from sandglass.experiment.host_settings import HostSettings
from sandglass.experiment.link import ALL_LINKS, LinkSettings
from sandglass.experiment.noise import PACKET
from sandglass.experiment.problems import KeyPath, Problem, where
from sandglass.experiment.queue import Queue
from sandglass.experiment.topology import TopologyFacts, shaped
from sandglass.experiment.trace import TracedRate
from sandglass.experiment.values import (
    AT_LINKS,
    DEFAULT_RECORDS,
    RECORDS,
    protocols_of_both_ends,
    spread_ns,
)

MOST_FLOWS = 50_000  # each has a port of its own, above the first thousands of 65,535
TCP_CC = "net.ipv4.tcp_congestion_control"
TCP_ECN = "net.ipv4.tcp_ecn"
TCP_ECN_ASKS = ("1", "3", "4")  # values that request ECN: ip-sysctl.rst


def disagreements(
    parts: Mapping[str, Any], facts: TopologyFacts | None, entries: list[int]
) -> Iterable[Problem]:
    """What is wrong between parts, as far as they could be read.

    `entries` are the places in the file of the flows, of which one entry may stand for several.
    """
    flows: list[Flow | None] = parts["flows"] or []
    hosts: dict[str, HostSettings | None] = parts["hosts"] or {}
    yield from _check_count(flows)
    yield from _check_times(flows, parts["duration"])
    yield from _check_repeat(flows, parts)
    yield from _check_spread(parts["rtt"], parts["rtt_spread"], hosts)
    yield from _check_ecn(flows, hosts, entries)
    yield from _check_dctcp(flows, hosts)
    yield from _check_ipv6(flows, hosts, entries)
    yield from _check_bottlenecks(parts, facts)
    yield from _check_record(parts, facts)
    if facts is not None:
        yield from _check_links(parts, facts)
        yield from _check_cards(parts, facts)
        yield from _check_noise(parts, facts)
        yield from _check_hosts(flows, hosts, facts)
        yield from _check_halves(parts, facts)


def _check_noise(parts: Mapping[str, Any], facts: TopologyFacts) -> Iterable[Problem]:
    """A packet's time is that on a link with a rate."""
    noise = parts["noise"]
    if noise is None or noise.phase != PACKET or parts["bottleneck"] is not None:
        return
    given = {name: each for name, each in (parts["links"] or {}).items() if each is not None}
    links = shaped(facts, given).values()
    if all(link.forward.rate is None and link.backward.rate is None for link in links):
        text = "no link has a rate, so that a packet takes no time: write one, such as 1ms"
        yield ("noise", "phase"), text


def _check_count(flows: list[Flow | None]) -> Iterable[Problem]:
    count = sum(flow.count * len(flow.sizes) for flow in flows if flow is not None)
    if count > MOST_FLOWS:
        yield ("flows",), f"are {count} in all: write at most {MOST_FLOWS}"


def _check_times(flows: list[Flow | None], end: int | None) -> Iterable[Problem]:
    if end is None:
        return
    whole = units.format_time(end)
    for index, flow in enumerate(flows):
        if flow is None:
            continue
        if flow.start + flow.start_within >= end:
            start = units.format_time(flow.start + flow.start_within)
            yield (
                ("flows", index, "start"),
                f"{start} is not before the end of the experiment: its duration is {whole}",
            )
        elif flow.duration is not None and flow.start + flow.start_within + flow.duration > end:
            over = units.format_time(flow.start + flow.start_within + flow.duration)
            yield (
                ("flows", index, "duration"),
                f"the flow would run until {over}, but the experiment ends at {whole}: "
                "shorten the one or lengthen the other",
            )
        else:
            lasts_ns = flow.duration or end - flow.start
            for key, text in flow.kind.problems(flow.options, lasts_ns):
                yield ("flows", index, key), text


def _check_repeat(flows: list[Flow | None], parts: Mapping[str, Any]) -> Iterable[Problem]:
    """A repetition must end by itself, and leave nothing to the next."""
    if parts["repeat"] in (None, 1):
        return
    if parts["record"]:
        recorded = ", ".join(parts["record"])
        yield ("record",), f"has {recorded}, but repetitions record flows alone: write record: []"
    for index, flow in enumerate(flows):
        if flow is not None and not flow.bounded:
            may_have = "size" in type(flow).model_fields
            said = "has no size" if may_have else f"{flow.workload} lasts for a time"
            remedy = "give it a size" if may_have else "run each seed by itself"
            text = f"{said}, but with repeat a flow must come to an end: {remedy}"
            yield ("flows", index), text
    bottleneck = parts["bottleneck"]
    alone = "cannot stand beside repeat: run each seed by itself"
    if bottleneck is not None and bottleneck.schedule:
        yield ("bottleneck", "schedule"), alone
    for name, link in (parts["links"] or {}).items():
        if link is not None and link.schedule:
            yield ("links", name, "schedule"), alone


def _check_spread(
    rtt: int | None, spread: int | float | None, hosts: Mapping[str, HostSettings | None]
) -> Iterable[Problem]:
    if rtt is None or not spread:
        return
    least = min([rtt, *(host.rtt for host in hosts.values() if host and host.rtt is not None)])
    spread = spread_ns(rtt, spread)
    if spread > least:
        yield (
            ("rtt_spread",),
            f"{units.format_time(spread)} is more than the shortest round trip, "
            f"{units.format_time(least)}: write less",
        )


def _check_ecn(
    flows: list[Flow | None], hosts: Mapping[str, HostSettings | None], entries: list[int]
) -> Iterable[Problem]:
    first: dict[str, tuple[int, bool]] = {}
    for index, flow in enumerate(flows):
        if not isinstance(flow, TcpFlow):
            continue
        before, ecn = first.setdefault(flow.opener, (index, flow.ecn))
        if flow.ecn != ecn:
            yield (
                ("flows", index, "ecn"),
                f"is {units.shown(flow.ecn)}, but flows[{entries[before]}], opened by the same "
                f"host {flow.opener}, has {units.shown(ecn)}; Linux keeps it per host ({TCP_ECN}): "
                "give both the same, or use two hosts",
            )
    for name, settings in hosts.items():
        if settings is not None and name in first and TCP_ECN in settings.sysctls:
            value = settings.sysctls[TCP_ECN]
            index, ecn = first[name]
            if ecn != (value in TCP_ECN_ASKS):
                yield (
                    ("hosts", name, "sysctls", TCP_ECN),
                    f"{value} contradicts ecn: {units.shown(ecn)} of flows[{entries[index]}]: "
                    "make them agree, or leave the sysctl out",
                )


def _check_dctcp(
    flows: list[Flow | None], hosts: Mapping[str, HostSettings | None]
) -> Iterable[Problem]:
    """DCTCP is a protocol of both ends, and a client such as curl takes what its host has."""
    both_ends = protocols_of_both_ends()
    for index, flow in enumerate(flows):
        if flow is None or flow.kind.other_end_chooses:
            continue
        if (cc := flow.congestion_control) not in both_ends:
            continue
        settings = hosts.get(flow.dst, HostSettings())
        if settings is not None and settings.sysctls.get(TCP_CC) not in both_ends:
            yield (
                ("flows", index, "cc"),
                f"is {cc}, which the other end needs too, and cannot choose: "
                f"write {where(('hosts', flow.dst, 'sysctls'))}: {{{TCP_CC}: {cc}}}",
            )


def _check_ipv6(
    flows: list[Flow | None], hosts: Mapping[str, HostSettings | None], entries: list[int]
) -> Iterable[Problem]:
    """Where one flow has it, every interface does, and so must be able to."""
    first = next((index for index, flow in enumerate(flows) if flow and flow.ip_version == 6), None)
    if first is None:
        return
    for name, settings in hosts.items():
        if settings is not None and settings.mtu < LEAST_MTU:
            yield (
                ("hosts", name, "mtu"),
                f"{settings.mtu} is too small for IPv6, which flows[{entries[first]}] has: "
                f"write {LEAST_MTU} or more",
            )


def _check_bottlenecks(parts: Mapping[str, Any], facts: TopologyFacts | None) -> Iterable[Problem]:
    common: Bottleneck | None = parts["bottleneck"]
    overrides: dict[str, BottleneckOverride | None] = parts["bottlenecks"] or {}
    if facts is not None:
        for name in overrides:
            if name not in facts.bottlenecks:
                yield ("bottlenecks", name), _absent(name, "bottleneck", facts.bottlenecks, facts)
    if common is not None:
        yield from _check_path(common, common, ("bottleneck",), parts)
    for name, override in overrides.items():
        if override is None:
            continue
        yield from _check_path(
            override, common and common.overridden(override), ("bottlenecks", name), parts
        )
        for index, change in enumerate(override.schedule or []):
            if change.rtt is not None:
                yield (
                    ("bottlenecks", name, "schedule", index, "rtt"),
                    "the round trip belongs to the whole path: put it into bottleneck.schedule",
                )


def _check_links(parts: Mapping[str, Any], facts: TopologyFacts) -> Iterable[Problem]:
    given: dict[str, LinkSettings | None] = parts["links"] or {}
    written: dict[str, str] = {}
    ends = {
        f"{one}-{two}": called
        for called, pair in facts.bottleneck_ends.items()
        for one, two in (pair, pair[::-1])
    }
    for name, settings in given.items():
        yield from _check_link_changes(settings, ("links", name), parts["duration"])
        found = facts.link(name)
        if name == ALL_LINKS:
            yield from _check_all_links(settings)
        elif found is None and name in ends:
            yield ("links", name), f"is the bottleneck {ends[name]}: write it there"
        elif found is None:
            yield ("links", name), _absent(name, "link", facts.links, facts)
        elif (first := written.setdefault(found[0].name, name)) != name:
            yield ("links", name), f"is the same link as {first}: write it once, with `reverse`"
    problems: dict[Problem, None] = {}  # of all links one is told
    for name, link in shaped(facts, given).items():
        at = ("links", written.get(name, ALL_LINKS if ALL_LINKS in given else name))
        problems |= dict.fromkeys((at, problem) for problem in link.problems())
        for way in (link.forward, link.backward):
            if parts["rtt"] == 0 and _in_bdp(way.queue):
                text = "the BDP is 0 because rtt is 0: give packets, a size or a time"
                problems[(*at, "queue"), text] = None
    yield from problems


def _check_all_links(settings: LinkSettings | None) -> Iterable[Problem]:
    """They have no direction in common, and whose values would change, single ones may replace."""
    text = "is of single links: write it for each, by its name"
    if settings and settings.reverse.model_fields_set:
        yield ("links", ALL_LINKS, "reverse"), text
    if settings and settings.schedule:
        yield ("links", ALL_LINKS, "schedule"), text


def _check_link_changes(
    settings: LinkSettings | None, at: KeyPath, end: int | None
) -> Iterable[Problem]:
    if settings is None:
        return
    yield from _check_times_of(settings.schedule, at, end, "link")
    own = settings.reverse.model_fields_set
    for index, change in enumerate(settings.schedule):
        for key in sorted(change.reverse.model_fields_set - own):
            yield (
                (*at, "schedule", index, "reverse", key),
                f"the {key} is that of both directions: give {where((*at, 'reverse'))}.{key}",
            )


def _check_times_of(
    schedule: Iterable[Timed], at: KeyPath, end: int | None, noun: str
) -> Iterable[Problem]:
    """Changes come between the start and the end."""
    for index, change in enumerate(schedule):
        here = (*at, "schedule", index, "at")
        if change.at == 0:
            yield here, f"0s is the start: write the value into the {noun} itself"
        if end is not None and change.at >= end:
            yield (
                here,
                f"{units.format_time(change.at)} is not before the end of the experiment: "
                f"its duration is {units.format_time(end)}",
            )


def _check_cards(parts: Mapping[str, Any], facts: TopologyFacts) -> Iterable[Problem]:
    """What a host's network card has, its link must not have as well."""
    for name, link in shaped(facts, parts["links"] or {}).items():
        for end in link.ends:
            for key in _of_the_card(parts, end):
                if link.forward.rate is not None or (key == "access_rate" and not link.plain):
                    text = f"cannot stand beside what link {name} has: give that a rate instead"
                    yield ("hosts", end, key), text
    for name, ends in facts.bottleneck_ends.items():
        for end in ends:
            for key in _of_the_card(parts, end):
                yield ("hosts", end, key), f"cannot stand beside {name}, which is its own link"


def _of_the_card(parts: Mapping[str, Any], host: str) -> list[str]:
    """The settings that a host's network card has in an experiment."""
    settings = (parts["hosts"] or {}).get(host)
    return [key for key in ("access_rate", "pacing") if settings and getattr(settings, key)]


def _check_record(parts: Mapping[str, Any], facts: TopologyFacts | None) -> Iterable[Problem]:
    bottlenecks = facts.bottlenecks if facts else []
    links = shaped(facts, parts["links"] or {}) if facts else {}
    record: list[str] = parts["record"] or []
    if "headers" in record and "packets" not in record:
        text = "headers are those of packets: write record: [packets, headers]"
        yield ("record", record.index("headers")), text
    for index, name in enumerate(record):
        if name in RECORDS or name in bottlenecks or (facts is None and "-" in name):
            continue
        found = facts and facts.link(name)
        if not found:
            near = nearest(name, [*RECORDS, *bottlenecks, *links])
            accepted = f"Write some of {', '.join(RECORDS)}, and links' names"
            yield ("record", index), f"unknown record '{name}'{near} {accepted}"
        elif links[found[0].name].forward.rate is None:
            text = f"link {name} has no rate, so that nothing waits before it"
            yield ("record", index), f"{text}: give it one in `links`, or leave it out"
    if facts is not None:
        yield from _check_recorded(parts, facts)


def _check_recorded(parts: Mapping[str, Any], facts: TopologyFacts) -> Iterable[Problem]:
    """Who names what is recorded at links, wants some; by default it is what there is."""
    record: list[str] = parts["record"] or []
    at_links = [name for name in record if name in AT_LINKS]
    if not at_links or record == list(DEFAULT_RECORDS) or facts.bottlenecks:
        return
    queues = any(
        link and (link.queue or link.reverse.queue)
        for name, link in (parts["links"] or {}).items()
        if name != ALL_LINKS
    )
    if not queues and all(name in RECORDS for name in record):
        text = "is recorded at links, and the experiment says of none that it is"
        example = next((name for name, link in facts.links.items() if link.forward.rate), None)
        remedy = f"name some, record: [{at_links[0]}, {example}]" if example else "give one a queue"
        yield ("record", record.index(at_links[0])), f"{at_links[0]} {text}: {remedy}"


def _check_path(
    given: Bottleneck | BottleneckOverride,
    merged: Bottleneck | None,
    at: KeyPath,
    parts: Mapping[str, Any],
) -> Iterable[Problem]:
    """Check the keys `given` at one place of the file, which in the end mean `merged`."""
    yield from _check_times_of(given.schedule or [], at, parts["duration"], "bottleneck")
    for index, change in enumerate(given.schedule or []):
        here = (*at, "schedule", index)
        if merged is not None:
            back = merged.reverse.rate
            for key, changed, rate in (
                ("rate", change.rate, merged.rate),
                ("reverse", change.reverse, back),
            ):
                if changed is not None and isinstance(rate, TracedRate):
                    yield (*here, key), "the rate follows a trace, which says how it changes"
        if change.reverse is not None and merged is not None and merged.reverse.rate is None:
            yield (
                (*here, "reverse"),
                f"the reverse rate follows the forward rate: give {where((*at, 'reverse'))}.rate",
            )
    if parts["rtt"] == 0:
        reverse = given.reverse.queue if given.reverse is not None else None
        for place, queue in ((("queue",), given.queue), (("reverse", "queue"), reverse)):
            for option in _in_bdp(queue):
                yield (
                    (*at, *place, option),
                    "the BDP is 0 because rtt is 0: give packets, a size or a time",
                )


def _check_hosts(
    flows: list[Flow | None], hosts: Iterable[str], facts: TopologyFacts
) -> Iterable[Problem]:
    for index, flow in enumerate(flows):
        if flow is None:
            continue
        for key, name in (("from", flow.src), ("to", flow.dst)):
            if name not in facts.hosts:
                yield ("flows", index, key), _absent(name, "host", facts.hosts, facts)
    for name in hosts:
        if name not in facts.hosts:
            yield ("hosts", name), _absent(name, "host", facts.hosts, facts)


def _check_halves(parts: Mapping[str, Any], facts: TopologyFacts) -> Iterable[Problem]:
    """Partners share an odd number of ns exactly; without partners both halves are the same."""
    if all(host in facts.partner for host in facts.hosts):
        return
    text = "is an odd number of ns, which has no two equal halves: write an even one"
    if (parts["rtt"] or 0) % 2:
        yield ("rtt",), text
    for name, settings in (parts["hosts"] or {}).items():
        if settings is not None and (settings.rtt or 0) % 2:
            yield ("hosts", name, "rtt"), text
    for index, change in enumerate(parts["bottleneck"].schedule if parts["bottleneck"] else []):
        if (change.rtt or 0) % 2:
            yield ("bottleneck", "schedule", index, "rtt"), text


def _in_bdp(queue: Queue | None) -> list[str]:
    """The options of a queue that are given in BDP."""
    if queue is None:
        return []
    limit = ["limit"] if queue.limit is not None and queue.limit.unit == "bdp" else []
    return limit + [
        option for option, value in queue.options.items() if str(value).rstrip().endswith("bdp")
    ]


def _absent(name: str, noun: str, there: Iterable[str], facts: TopologyFacts) -> str:
    names = list(there)
    several = ", ".join(names if len(names) <= 12 else [*names[:6], "...", *names[-3:]])
    return f"no {noun} '{name}' in {facts.name}{nearest(name, names)} It has {several}"
