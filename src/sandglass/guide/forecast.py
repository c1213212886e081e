"""What a run will take, before it is done: time, memory, and room on the disk.

The times are of a model with five numbers, fitted to 405 recorded runs of the ABE report's
pipeline, two labs at once on two cores: nine in ten took 0.8 to 1.6 times what it says. A slower or
a busy machine takes longer.
"""

from dataclasses import dataclass

from sandglass.agent.plan import DIRECTIONS, Bottleneck, Plan, Size
from sandglass.agent.recorder import QUEUE_INTERVAL_NS
from sandglass.experiment.experiment import Experiment
from sandglass.run.plan import ETHERNET_HEADER

START_S = 0.4
HOST_S = 1e-3
FLOW_S = 3e-3
PACKET_S = 3e-6
RECORDED_PACKET_S = 1e-6
"""More, if anything is recorded."""
VIRTUAL_S = 1e-3
"""For each second of the experiment."""
ROW_BYTES = 20
"""Of a table on the disk, in the mean of packets, acks and queues."""
ACKS = 0.5
"""Acknowledgements for a packet, where receivers delay them."""


@dataclass(frozen=True)
class Forecast:
    """What a run takes, by a model; None where nothing limits what is sent."""

    wall_s: float | None
    packets: int | None
    """Of data, at most."""
    rows: dict[str, int]
    """By the tables that are recorded."""
    memory_mb: int
    """Of the lab at most; its records in tables need as much again."""

    @property
    def disk_mb(self) -> float:
        """What the tables take."""
        return sum(self.rows.values()) * ROW_BYTES / 1e6


def forecast(experiment: Experiment, plan: Plan) -> Forecast:
    """What a run of a plan will take."""
    packets = _packets(experiment, plan)
    lasts_s = plan["duration_ns"] / 1e9
    hosts, flows = len(plan["hosts"]), len(plan["flows"]) * plan["repeat"]
    wall_s = None
    if packets is not None:
        each_s = PACKET_S + RECORDED_PACKET_S * bool(plan["record"])
        wall_s = START_S + HOST_S * hosts + FLOW_S * flows + VIRTUAL_S * lasts_s + each_s * packets
    recorded = sum(each["recorded"] for each in plan["bottlenecks"].values())
    rows = {
        "packets": round((packets or 0) * (1 + ACKS)),
        "acks": round((packets or 0) * ACKS),
        "queues": recorded * len(DIRECTIONS) * plan["duration_ns"] // QUEUE_INTERVAL_NS,
    }
    kept = {name: number for name, number in rows.items() if name in plan["record"]}
    return Forecast(wall_s, packets, kept, plan["memory_mb"])


def full_packets(plan: Plan) -> list[int]:
    """Bytes on the wire of the full packets that flows of a plan send, the shortest first."""
    hosts = plan["hosts"]
    ends = {(flow["src"], flow["dst"]) for flow in plan["flows"]}
    mtus = {min(hosts[one]["mtu"], hosts[other]["mtu"]) for one, other in ends}
    return sorted(mtu + ETHERNET_HEADER for mtu in mtus)


def _packets(experiment: Experiment, plan: Plan) -> int | None:
    """The packets that flows send at most, each at every bottleneck on its way."""
    full = full_packets(plan)[0]
    kinds = {flow.workload: flow.kind for flow in experiment.flows}
    sized, steady, greedy = 0, 0, False
    for flow in plan["flows"]:
        size, lasts_ns = flow["size_bytes"], flow["duration_ns"]
        if size is not None:
            sized += _expected(size)
        elif lasts_ns is not None and (
            sent := kinds[flow["workload"]].packets(flow["options"], lasts_ns)
        ):
            steady += sent
        else:
            greedy = True
    most = _capacity_bytes(plan)
    if greedy and most is None:
        return None
    # Of several repetitions each ends when its flows do.
    bound = most if most is not None and plan["repeat"] == 1 else None
    data = most if greedy else sized if bound is None else min(sized, bound)
    return (data or 0) * plan["repeat"] // full + steady


def _expected(size: Size) -> int:
    """The size of a flow in bytes; of a random one, its median."""
    return size if isinstance(size, int) else size["lognormal"]["median"]


def _capacity_bytes(plan: Plan) -> int | None:
    """What the bottlenecks carry in all until the end, in their forward direction."""
    rates = [fastest(link) for link in plan["bottlenecks"].values()]
    return sum(rates) * plan["duration_ns"] // (8 * 10**9) if rates else None


def fastest(bottleneck: Bottleneck) -> int:
    """The highest forward rate that it has at any time, in bit/s; of a trace, its mean."""
    steps = (step.get("forward_rate_bps", 0) for step in bottleneck["schedule"])
    return max(bottleneck["forward"]["rate_bps"], *steps, 0)
