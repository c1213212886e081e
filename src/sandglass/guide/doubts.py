"""What is allowed in an experiment and often not meant: warnings, each a sentence or two."""

from collections.abc import Iterator

from sandglass.agent.plan import Bottleneck, Plan, base_rtt_ns
from sandglass.experiment import units
from sandglass.experiment.experiment import Experiment
from sandglass.experiment.qdiscs import KINDS
from sandglass.guide.forecast import Forecast, fastest, full_packets
from sandglass.install import memory

INITIAL_WINDOW = 10
"""Packets; Linux's, as RFC 6928 has it."""
DROPS_AT_THE_END = ("bfifo", "pfifo", "pfifo_fast", "pfifo_head_drop")
"""Kinds that know nothing but their limit."""
ALWAYS_MARK = ("cake", "dualpi2", "fq_codel", "sfb")
"""Kinds that mark without being told; fq_codel unless it is told noecn."""
FEWEST_ROUND_TRIPS = 20
SHARE_OF_BUFFER = 2
"""Linux takes half of a socket's buffer for the window (tcp_adv_win_scale)."""


def doubts(experiment: Experiment, plan: Plan, expected: Forecast) -> Iterator[str]:
    """What the author of an experiment may want to know before it runs."""
    for name, bottleneck in plan["bottlenecks"].items():
        if bottleneck["recorded"]:
            yield from _about_queue(name, bottleneck, experiment, plan)
    yield from _about_windows(plan)
    yield from _about_time(experiment, plan)
    if not plan["record"] and plan["repeat"] == 1:
        yield "record is []: only what flows and queues add up to is kept, nothing over time"
    if expected.packets is None:
        yield "no link that a flow crosses has a rate: only processors limit what is sent"
    if (free_mb := memory.available_mb()) < expected.memory_mb:
        yield (
            f"the lab may need {expected.memory_mb} MB of memory, and {free_mb} MB are free: "
            "record less, or for a shorter time"
        )


def _about_queue(
    name: str, bottleneck: Bottleneck, experiment: Experiment, plan: Plan
) -> Iterator[str]:
    queue, full = bottleneck["forward"]["queue"], full_packets(plan)[-1]
    bdp = int(units.bdp_bytes(fastest(bottleneck), experiment.rtt))
    limit = queue["limit"]
    if limit is not None:
        size = limit if queue["limit_unit"] == "bytes" else limit * full
        if size + full // 2 < bdp:  # 1bdp is the nearest number of packets
            consequence = (
                "one flow that backs off by half, as Reno does, leaves the link idle"
                if queue["kind"] in DROPS_AT_THE_END
                else f"{queue['kind']} may drop for want of room before its control acts"
            )
            yield (
                f"{name}: the queue's limit of {size} B is below the BDP of {bdp} B: {consequence}"
            )
        windows = {
            host: plan["hosts"][host]["initcwnd"] or INITIAL_WINDOW
            for host in {flow.src for flow in experiment.flows if flow.kind.tcp}
        }
        longest = max(windows.values(), default=0)
        if size < longest * full:
            yield (
                f"{name}: the queue's limit of {size} B is below an initial window, {longest} "
                "packets: flows may lose packets as they start"
            )
    if bdp < 2 * full and experiment.rtt:
        yield (
            f"{name}: the BDP of {bdp} B is less than two packets: TCP, whose window is two "
            "packets at least, always fills the queue"
        )
    asks = any(flow["ecn"] for flow in plan["flows"])
    if asks and not _marks(queue["kind"], queue["options"]):
        yield f"{name}: flows ask for ECN, but {queue['kind']} does not mark{_how(queue['kind'])}"


def _marks(kind: str, options: list[str]) -> bool:
    """Whether it marks packets; of a kind that is not Linux's, it is taken to."""
    if kind not in KINDS:
        return True
    if "noecn" in options:
        return False
    return kind in ALWAYS_MARK or "ecn" in options or "ce_threshold" in options


def _how(kind: str) -> str:
    return ": give it ecn: true" if "ecn" in KINDS[kind] else ""


def _about_windows(plan: Plan) -> Iterator[str]:
    """Buffers that hold less than the path."""
    if not plan["bottlenecks"]:
        return
    rate = min(fastest(each) for each in plan["bottlenecks"].values())
    hosts = plan["hosts"]
    pairs = {(flow["src"], flow["dst"]) for flow in plan["flows"]}
    for one, other in sorted(pairs | {(other, one) for one, other in pairs}):
        bdp = int(units.bdp_bytes(rate, base_rtt_ns(plan, one, other)))
        for sysctl in ("net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem"):
            most = int(hosts[one]["sysctls"][sysctl].split()[-1]) // SHARE_OF_BUFFER
            if most < bdp:
                yield (
                    f"{one}: {sysctl} leaves a window of about {most} B, less than the BDP "
                    f"of {bdp} B to {other}: memory cuts it, not congestion control"
                )


def _about_time(experiment: Experiment, plan: Plan) -> Iterator[str]:
    rtt_ns = max(base_rtt_ns(plan, flow["src"], flow["dst"]) for flow in plan["flows"])
    if rtt_ns and experiment.duration < FEWEST_ROUND_TRIPS * rtt_ns and experiment.repeat == 1:
        yield (
            f"it lasts {units.format_time(experiment.duration)}, "
            f"{experiment.duration / rtt_ns:.1f} round trips: flows hardly leave slow start"
        )
