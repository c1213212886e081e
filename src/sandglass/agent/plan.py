"""The plan of a run, as it passes from host to guest in plan.json.

Plain numbers, nothing left open: rates in bit/s, times in ns, sizes in bytes, queues in tc's words.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypedDict

if TYPE_CHECKING:
    from typing_extensions import NotRequired

OPPORTUNITY_BITS = 12_000
"""What an opportunity of a trace carries: a packet of 1500 bytes, as Mahimahi has it."""


class Topology(TypedDict):
    """Which network is built. The file itself lies beside plan.json as topology.py."""

    name: str
    path: str
    """Below the checkout, or absolute."""
    params: dict[str, Any]


class Host(TypedDict):
    """What one host has."""

    half_rtt_ns: int
    """The one-way delay on the way to it."""
    mtu: int
    access_rate_bps: int | None
    """None: unlimited."""
    initcwnd: int | None
    """Packets; None: the kernel's."""
    delayed_ack: bool
    pacing: bool
    ecn: bool
    """Whether it asks for ECN."""
    sysctls: dict[str, str]


class Queue(TypedDict):
    """A qdisc."""

    kind: str
    limit: int | None
    """In `limit_unit`; None: the kernel's."""
    limit_unit: str
    """packets or bytes."""
    options: list[str]
    """tc's words, the limit among them."""


class Trace(TypedDict):
    """Opportunities to send, as those of kmods/sch_trace/trace.h."""

    opportunities: str
    """When each is, in ms, with commas between."""
    start_ns: int | None
    """Where in the trace the experiment begins; None: the seed decides."""


class Link(TypedDict):
    """One direction of a bottleneck."""

    rate_bps: int
    """Of a trace, its mean."""
    queue: Queue
    trace: NotRequired[Trace]
    """What it follows from the experiment's start on."""


class Step(TypedDict):
    """A change of a bottleneck or, of the whole path, its round trip."""

    at_ns: int
    forward_rate_bps: NotRequired[int]
    reverse_rate_bps: NotRequired[int]
    half_rtt_ns: NotRequired[dict[str, int]]
    """By host, of those that change."""


Direction = Literal["forward", "reverse"]
DIRECTIONS: tuple[Direction, Direction] = ("forward", "reverse")


class Bottleneck(TypedDict):
    """A link with a rate, between two routers or any other nodes."""

    recorded: bool
    forward: Link
    reverse: Link
    schedule: list[Step]
    """In order of time."""


class Way(TypedDict):
    """One direction of what a packet meets between its transmission's start and its arrival."""

    rate_bps: int | None
    """None: its transmission takes no time."""
    delay_ns: int
    jitter_ns: int
    """The delay is drawn from plus or minus this."""
    impairments: list[str]
    """Loss, reordering and duplication, in tc's words for netem."""


class Noise(TypedDict):
    """What a testbed adds to the times of packets, as in kmods/sch_noise/noise.h; 0: nothing."""

    phase_ns: int
    host_ns: list[int]
    """Quantiles."""
    nic_ns: int
    wan_ns: int
    wan_step_ns: int


class WireStep(TypedDict):
    """What a wire is from some time on."""

    at_ns: int
    forward: Way
    reverse: Way


class Wire(TypedDict):
    """A link on which packets are transmitted and propagate where it lies."""

    forward: Way
    reverse: Way
    schedule: list[WireStep]
    """In order of time; changes of the rate alone are the bottleneck's."""


class Lognormal(TypedDict):
    """Sizes in bytes; `sigma` is the standard deviation of their natural logarithm."""

    median: int
    sigma: float
    least: int
    most: int


class RandomSize(TypedDict):
    """A size that the seed decides."""

    lognormal: Lognormal


Size = int | RandomSize
Options = dict[str, Any]
"""What a workload's file declares as OPTIONS, in base units."""


class FlowBase(TypedDict):
    """What a flow has, drawn or not."""

    id: int
    """From 1."""
    workload: str
    """As in the experiment."""
    src: str
    dst: str
    family: int
    """Of its addresses: 4 or 6."""
    cc: str | None
    ecn: bool
    start_ns: int
    start_within_ns: int
    duration_ns: int | None
    """None: it ends by itself."""
    options: Options


class PlannedFlow(FlowBase):
    """A flow before the seed has decided its start and its size."""

    size_bytes: Size | None


class Flow(FlowBase):
    """A flow as a workload is given it."""

    size_bytes: int | None


class OwnFile(TypedDict):
    """A file of the user's that flows need."""

    sha256: str
    executable: bool


class OwnFiles(TypedDict):
    """What flows need of the user's own, by the paths from the experiment's file."""

    here: str
    """Where that file would lie in the tree that they are laid out as; empty: at its root."""
    files: dict[str, OwnFile]
    links: dict[str, str]
    """Symbolic links, with what each leads to."""


class Plan(TypedDict):
    """Everything that the guest does."""

    title: str
    seed: int
    repeat: int
    duration_ns: int
    topology: Topology
    rtt_spread_ns: int
    hosts: dict[str, Host]
    bottlenecks: dict[str, Bottleneck]
    wires: dict[str, Wire]
    """By the name of the bottleneck, or of the link. Without any, the only bottleneck's packets are
    transmitted where they leave the network for a host."""
    noise: NotRequired[Noise]
    workloads: dict[str, str]
    """Files by the names that flows call them: below the checkout, or in the run's directory."""
    flows: list[PlannedFlow]
    own_files: NotRequired[OwnFiles]
    record: list[str]
    sysctl_advice: dict[str, str]
    """For whoever has written a value that a module's sysctl refuses: what it takes, by name."""
    zero_ns: int
    """Time zero of the lab's clock, after its start: the network is built and checked by then."""
    memory_mb: int


Result = dict[str, Any]
"""What a workload tells of a flow: start_ns, end_ns, bytes, and what its file declares."""


def base_rtt_ns(plan: Plan, source: str, destination: str) -> int:
    """The round trip that a plan gives two hosts, without transmission and queues, in ns."""
    hosts = plan["hosts"]
    return hosts[source]["half_rtt_ns"] + hosts[destination]["half_rtt_ns"]


def end_ns(flow: Flow) -> int:
    """When a flow that lasts for a time ends."""
    assert flow["duration_ns"] is not None
    return flow["start_ns"] + flow["duration_ns"]


def size_bytes(flow: Flow) -> int:
    """What a flow that has a size sends."""
    assert flow["size_bytes"] is not None
    return flow["size_bytes"]


def workload_name(flow: FlowBase) -> str:
    """What a flow's workload is called in the plan: flent of flent:rrul."""
    return flow["workload"].partition(":")[0]
