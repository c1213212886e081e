"""What would be built of an experiment, in words; nothing runs."""

import json
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from sandglass.agent.declare import SERVER
from sandglass.agent.plan import DIRECTIONS, Bottleneck, Link, Plan, PlannedFlow, Queue
from sandglass.experiment import units
from sandglass.experiment.agreement import TCP_CC
from sandglass.experiment.experiment import Experiment
from sandglass.experiment.link import Direction
from sandglass.experiment.mainline import DEFAULTS
from sandglass.experiment.values import percent
from sandglass.guide import doubts, forecast
from sandglass.guide.forecast import Forecast, full_packets
from sandglass.guide.picture import picture, ranges
from sandglass.run.plan import resolve

MOST_SHOWN = 12
"""Lines of one thing."""
BUFFERS = ("net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem")
FEW = 4
"""So many links are labelled each, though they are alike."""
WIDTH = 12
USUAL = "cubic"
"""Linux's congestion control."""
FREE = "about as long as the processors take: no rate limits what is sent"


@dataclass(frozen=True)
class Preview:
    """An experiment that nothing is wrong with, as it would be run."""

    experiment: Experiment
    plan: Plan
    expected: Forecast
    warnings: list[str]

    def as_json(self) -> dict[str, Any]:
        """For programs: times in ns, rates in bit/s, sizes in bytes, as in plan.json."""
        return {
            "experiment": self.experiment.filled(),
            "plan": self.plan,
            "expected": {
                "wall_s": self.expected.wall_s,
                "memory_mb": self.expected.memory_mb,
                "rows": self.expected.rows,
                "disk_mb": self.expected.disk_mb,
            },
            "picture": drawn(self.experiment, self.plan),
            "warnings": self.warnings,
        }

    def told(self, *, warned: bool = True) -> Iterator[str]:
        """For people, in lines."""
        yield self.experiment.title
        yield ""
        yield from drawn(self.experiment, self.plan)
        yield ""
        for name, lines in _parts(self.experiment, self.plan, self.expected):
            yield from said(name, lines)
        for warning in self.warnings if warned else ():
            yield from said("warning", [warning])


def said(name: str, lines: list[str]) -> Iterator[str]:
    """Lines about one thing, behind its name."""
    shown = lines[:MOST_SHOWN]
    if len(lines) > MOST_SHOWN:
        shown.append(f"and {len(lines) - MOST_SHOWN} more")
    for number, line in enumerate(shown):
        head = f"{name if number == 0 else '':{WIDTH}}  "
        yield textwrap.fill(line, 100, initial_indent=head, subsequent_indent=" " * (WIDTH + 4))


def preview(experiment: Experiment) -> Preview:
    """What would be run. Raises UsageError for what `run` would refuse."""
    plan = resolve(experiment, experiment.facts)
    expected = forecast.forecast(experiment, plan)
    return Preview(experiment, plan, expected, list(doubts.doubts(experiment, plan, expected)))


def drawn(experiment: Experiment, plan: Plan) -> list[str]:
    """The topology, with what its links have."""
    shaped = experiment.shaped()

    def label(name: str) -> str:
        if name in experiment.facts.bottlenecks:
            rate = plan["bottlenecks"][name]["forward"]["rate_bps"]
            kind = plan["bottlenecks"][name]["forward"]["queue"]["kind"]
            return f"{name} {units.format_rate(rate)} {kind}"
        about = _link(shaped[name].forward) if name in shaped else ""
        return "" if about == common else about

    links = [_link(link.forward) for link in shaped.values()]
    common = links[0] if len(links) > FEW and len(set(links)) == 1 else ""
    lines = picture(experiment.facts, label)
    return [*lines, f"each link: {common}"] if common else lines


def _link(way: Direction) -> str:
    """What a link has, in a few words."""
    words = [units.format_rate(way.rate)] if way.rate is not None else []
    words += [units.format_time(way.delay)] if way.delay else []
    words += [f"±{units.format_time(way.jitter)}"] if way.jitter else []
    if way.loss:
        words.append(f"{percent(way.loss)} loss" if isinstance(way.loss, float) else "loss")
    return " ".join([*words, *([way.queue.kind] if way.queue else [])])


def _parts(
    experiment: Experiment, plan: Plan, expected: Forecast
) -> Iterator[tuple[str, list[str]]]:
    full = full_packets(plan)[-1]
    alike: dict[str, list[str]] = {}
    for name, bottleneck in plan["bottlenecks"].items():
        alike.setdefault(json.dumps(bottleneck), []).append(name)
    for names in alike.values():
        called = names[0] if len(names) == 1 else f"{len(names)} links"
        listed = ranges(names) if len(names) <= FEW else f"{', '.join(names[:FEW])}, …"
        told = _bottleneck(plan["bottlenecks"][names[0]], experiment.rtt, full)
        yield called, [*([listed] if len(names) > 1 else []), *told]
    yield "round trips", list(_round_trips(plan))
    yield "flows", list(_flows(experiment, plan))
    if settings := list(_hosts(experiment, plan)):
        yield "hosts", settings
    if noise := plan.get("noise"):
        yield "noise", [f"phase {units.format_time(noise['phase_ns'])}, host, nic and wan as given"]
    lasts = f"{units.format_time(experiment.duration)} of virtual time, seed {experiment.seed}"
    again = f", {experiment.repeat} times with the next seeds" if experiment.repeat > 1 else ""
    yield "lasts", [lasts + again]
    yield "records", [_records(plan, expected)]
    yield "expected", [_expected(expected)]


def _bottleneck(bottleneck: Bottleneck, rtt_ns: int, full: int) -> Iterator[str]:
    there, back = (bottleneck[way] for way in DIRECTIONS)
    if there == back:
        yield f"{_way(there)}, both ways"
    else:
        yield _way(there)
        yield f"back: {_way(back)}"
    yield _queue(there["queue"], there["rate_bps"], rtt_ns, full)
    if back["queue"] != there["queue"]:
        yield f"back: {_queue(back['queue'], back['rate_bps'], rtt_ns, full)}"
    if rtt_ns:
        bdp = int(units.bdp_bytes(there["rate_bps"], rtt_ns))
        yield f"BDP at {units.format_time(rtt_ns)}: {bdp} B, {bdp / full:.1f} packets of {full} B"
    for step in bottleneck["schedule"]:
        told = [units.format_rate(step["forward_rate_bps"])] if "forward_rate_bps" in step else []
        if halves := step.get("half_rtt_ns"):
            told.append(f"round trip {units.format_time(2 * next(iter(halves.values())))}")
        yield f"from {units.format_time(step['at_ns'])} on: {', '.join(told)}"


def _way(link: Link) -> str:
    rate = units.format_rate(link["rate_bps"])
    return f"a trace of {rate} in the mean" if "trace" in link else rate


def _queue(queue: Queue, rate_bps: int, rtt_ns: int, full: int) -> str:
    """A qdisc with its limit in every unit, and tc's words."""
    kind, limit = queue["kind"], queue["limit"]
    own = [word for word in queue["options"] if limit is None or word not in ("limit", str(limit))]
    words = f"; {' '.join(own)}" if own else ""
    if limit is None:
        usual = DEFAULTS.get(kind, {}).get("limit")
        return f"{kind}, limit {usual or 'of its own'}, the kernel's{words}"
    size = limit if queue["limit_unit"] == "bytes" else limit * full
    time = units.format_time(round(8e6 * size / rate_bps) * 1000)
    bdp = f", {size / float(units.bdp_bytes(rate_bps, rtt_ns)):.2f} BDP" if rtt_ns else ""
    packets = f"{size / full:.0f} packets" if queue["limit_unit"] == "bytes" else f"{limit} packets"
    return f"{kind}, limit {packets}: {size} B, {time}{bdp}{words}"


def _round_trips(plan: Plan) -> Iterator[str]:
    """By their length, which pairs of hosts have them."""
    hosts = plan["hosts"]
    found: dict[int, dict[str, list[str]]] = {}
    for src, dst in dict.fromkeys((flow["src"], flow["dst"]) for flow in plan["flows"]):
        rtt_ns = hosts[src]["half_rtt_ns"] + hosts[dst]["half_rtt_ns"]
        ends = found.setdefault(rtt_ns, {"from": [], "to": []})
        ends["from"].append(src)
        ends["to"].append(dst)
    for rtt_ns, ends in found.items():
        pairs = f"{ranges(set(ends['from']))} → {ranges(set(ends['to']))}"
        if rtt_ns:
            yield f"{units.format_time(rtt_ns)}: {pairs}, without what links and queues add"
        else:
            yield f"what links and queues take: {pairs}"


def _flows(experiment: Experiment, plan: Plan) -> Iterator[str]:
    """Flows, those that are alike in a line."""
    tcp = {flow.workload for flow in experiment.flows if flow.kind.tcp}
    groups: dict[tuple[str, str], list[PlannedFlow]] = {}
    for flow in plan["flows"]:
        usual = plan["hosts"][flow["src"]]["sysctls"].get(TCP_CC, USUAL)
        about = _about(flow, usual if flow["workload"] in tcp else None)
        groups.setdefault((flow["workload"], about), []).append(flow)
    for (_, about), flows in groups.items():
        src = ranges({flow["src"] for flow in flows})
        dst = ranges({flow["dst"] for flow in flows})
        number = f"{len(flows)} x " if len(flows) > 1 else ""
        yield f"{number}{flows[0]['workload']} {src} → {dst}{about}"


def _about(flow: PlannedFlow, usual: str | None) -> str:
    """What a flow has besides its ends; `usual` is its host's congestion control, if it has one."""
    cc = flow["cc"] or usual
    words = [cc] if cc else []
    words += ["ECN"] if flow["ecn"] else []
    words += ["IPv6"] if flow["family"] == 6 else []
    size = flow["size_bytes"]
    if size is not None:
        words.append(units.format_size(size) if isinstance(size, int) else "of random size")
    start = units.format_time(flow["start_ns"])
    lasts = flow["duration_ns"]
    if flow["options"].get("role") == SERVER:
        words.append("a server: before the others, and until they end")
    elif lasts is not None:
        words.append(f"from {start} to {units.format_time(flow['start_ns'] + lasts)}")
    else:
        words.append(f"from {start} until it is done")
    if within := flow["start_within_ns"]:
        words.append(f"up to {units.format_time(within)} later")
    return f", {', '.join(words)}"


def _hosts(experiment: Experiment, plan: Plan) -> Iterator[str]:
    """What hosts have of their own; the buffers that all have are told once."""
    every = next(iter(plan["hosts"].values()))["sysctls"]
    if all(each["sysctls"] == every for each in plan["hosts"].values()):
        largest = max(int(every[name].split()[-1]) for name in BUFFERS)
        yield f"all: socket buffers grow to {units.format_size(largest)}"
    for name, settings in experiment.hosts.items():
        given: Mapping[str, Any] = settings.model_dump(mode="json", exclude_unset=True)
        plain = [f"{key} {value}" for key, value in given.items() if key != "sysctls"]
        yield f"{name}: {', '.join([*plain, *(f'{k}={v}' for k, v in settings.sysctls.items())])}"


def _records(plan: Plan, expected: Forecast) -> str:
    if not plan["record"]:
        return "nothing over time"
    if expected.packets is None:
        return f"{', '.join(plan['record'])}: as many rows as come, for no rate limits them"
    tables = ", ".join(f"{name} ({rows:,} rows)" for name, rows in expected.rows.items() if rows)
    if not tables:
        return "what each flow measures"
    return f"{tables}: at most about {max(expected.disk_mb, 0.1):.1f} MB"


def _expected(expected: Forecast) -> str:
    time = FREE if expected.wall_s is None else f"{expected.wall_s:.1f} s on a processor of its own"
    return f"{time}, and up to {expected.memory_mb} MB of memory"
