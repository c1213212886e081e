"""An experiment: a network, what flows through it, and for how long.

The models of this package hold plain numbers (rates in bit/s, times in ns, sizes in bytes) and read
and write the texts with units that stand in the file. Their descriptions are the documentation of
the file.
"""

from collections.abc import Iterator
from typing import Annotated, Any

from pydantic import ConfigDict, Field, PrivateAttr, SerializeAsAny, StrictInt, StrictStr

from sandglass.errors import UsageError
from sandglass.experiment import own_files, units
from sandglass.experiment.bottleneck import Bottleneck, BottleneckOverride
from sandglass.experiment.flow import Flow
from sandglass.experiment.host_settings import HostSettings
from sandglass.experiment.link import Link, LinkSettings
from sandglass.experiment.noise import AnyNoise, WakeUp
from sandglass.experiment.own_files import File
from sandglass.experiment.part import Part
from sandglass.experiment.topology import TopologyFacts, shaped
from sandglass.experiment.trace import Trace, TracedRate
from sandglass.experiment.values import (
    DEFAULT_RECORDS,
    Duration,
    Kernel,
    Memory,
    PackageName,
    Record,
    Spread,
    Time,
    Title,
    spread_ns,
)


def _times(part: Any) -> Iterator[Trace | WakeUp]:
    """The traces and histograms in a part of an experiment."""
    if isinstance(part, Trace | WakeUp):
        yield part
    elif isinstance(part, TracedRate):
        yield part.replay.trace
    elif isinstance(part, Part):
        yield from _times([getattr(part, name) for name in type(part).model_fields])
    elif isinstance(part, dict | list):
        for each in part.values() if isinstance(part, dict) else part:
            yield from _times(each)


class Experiment(Part):
    """A network, what flows through it, and for how long."""

    # Keys that are not listed are parameters of a topology of the user's own.
    model_config = ConfigDict(extra="allow", frozen=True)

    title: Title = Field(description="One line that says what the experiment shows.")
    topology: StrictStr = Field(
        description="The name of a file in topologies/, or the path of a .py file, relative to "
        "the experiment's. Further keys at this level are parameters of the topology.",
        examples=["dumbbell", "parking_lot", "star", "dumbbell_ovs"],
    )
    rtt: Time = Field(
        default=0,
        description="Base round trip: propagation only, half in each direction, after the "
        "bottleneck; delays of links come on top. BDP refers to it. Needed where there is a "
        "bottleneck.",
        examples=["100ms"],
        json_schema_extra={"default": "0s"},
    )
    rtt_spread: Spread = Field(
        default=0,
        description="The base round trip of a run is drawn from rtt plus or minus this, uniformly; "
        "the seed decides. A time, or a share of rtt.",
        examples=["10ms", "5%"],
        json_schema_extra={"default": "0s"},
    )
    bottleneck: Bottleneck | None = Field(
        default=None,
        description="The slow link; in a topology with several, what holds for each of them. "
        "Needed where the topology names one.",
        examples=[{"rate": "20mbit", "queue": {"kind": "codel"}}],
    )
    bottlenecks: dict[str, BottleneckOverride] = Field(
        default_factory=dict,
        description="What single bottlenecks of a topology with several have of their own, "
        "by their names.",
        examples=[{"hop2": {"rate": "10mbit"}}],
    )
    links: dict[str, LinkSettings] = Field(
        default_factory=dict,
        description="What other links have, by the names of the two nodes: in the direction in "
        "which they are written, and back but for `reverse`. `all` stands for every link, below "
        "what single ones have.",
        examples=[{"s1-r1": {"rate": "1gbit", "delay": "2ms"}}, {"all": {"delay": "5us"}}],
    )
    noise: AnyNoise | None = Field(
        default=None,
        description="Small random delays, as a testbed has them: testbed, or some of phase, host, "
        "nic and wan. Default: none.",
        examples=["testbed", {"phase": "packet"}],
    )
    flows: Annotated[list[SerializeAsAny[Flow]], Field(min_length=1)] = Field(
        description="What is sent, numbered from 1 in this order.",
        examples=[[{"workload": "bulk", "from": "s1", "to": "d1"}]],
    )
    hosts: dict[str, HostSettings] = Field(
        default_factory=dict,
        description="What single hosts have of their own, by their names.",
        examples=[{"s1": {"initcwnd": 3}}],
    )
    duration: Duration = Field(
        description="How long the experiment runs, in virtual time.", examples=["90s"]
    )
    seed: Annotated[StrictInt, Field(ge=0, le=2**64 - 1)] = Field(
        default=1,
        description="Everything random comes from it: same seed, same bytes.",
        examples=[1],
    )
    record: Record = Field(
        default=list(DEFAULT_RECORDS),
        description="What is recorded: packets at the bottlenecks, acks (TCP's state at each ACK), "
        "queues (counters of the qdiscs over time), goodput (bytes acknowledged to each flow over "
        "time; small), headers (of each of the packets; large). [] records nothing.",
        examples=[["packets", "acks"]],
        json_schema_extra={"default": list(DEFAULT_RECORDS)},
    )
    repeat: Annotated[StrictInt, Field(ge=1, le=100_000)] = Field(
        default=1,
        description="Run it so many times, with the seeds seed, seed+1, ..., one after the other "
        "in one lab. Each repetition gives what a run with its seed gives. Every flow must end "
        "by itself, and record is [].",
        examples=[1000],
    )

    memory: Memory | None = Field(
        default=None,
        description="What the lab may take. Default: what its hosts, flows and records need; "
        "programs that flows start may want more.",
        examples=["2GB"],
    )
    packages: list[PackageName] = Field(
        default_factory=list,
        description="Debian packages that its lab has besides those of every lab, with all that "
        "they depend on. Such a lab is made once.",
        examples=[["iperf3"], ["ngtcp2-client", "ngtcp2-server"]],
    )
    lab: Kernel | None = Field(
        default=None,
        description="The series of Linux whose lab it runs in, or the name that `lab build --tree` "
        "gave to one. Default: the oldest series that has all that it names, as DualPI2 and Prague "
        "need 7.2.",
        examples=["7.2"],
    )

    _facts: TopologyFacts = PrivateAttr()

    @property
    def parameters(self) -> dict[str, Any]:
        """The topology's parameters as given in the file."""
        return self.model_extra or {}

    @property
    def facts(self) -> TopologyFacts:
        """The topology's hosts and bottlenecks, as found when the experiment was loaded."""
        return self._facts

    @property
    def spread_ns(self) -> int:
        """How far a run's base round trip is from `rtt` at most."""
        return spread_ns(self.rtt, self.rtt_spread)

    def shaped(self) -> dict[str, Link]:
        """The links that are more than wires, but for the bottlenecks, by their names."""
        return {
            name: link for name, link in shaped(self.facts, self.links).items() if not link.plain
        }

    def copied(self) -> dict[str, str]:
        """The text of each of the user's files of times, by what a run calls its copy.

        Raises UsageError when two are called the same.
        """
        found: dict[str, str] = {}
        for times in _times(self):
            if times.copy and found.setdefault(times.copy, times.text) != times.text:
                name = times.copy.partition("-")[2]
                raise UsageError(f"two files of times are called {name}", "Rename one.")
        return found

    @property
    def own_files(self) -> dict[str, File]:
        """The files of the user's own that flows need, by their names.

        Raises UsageError when two are called the same.
        """
        return own_files.together(own for flow in self.flows for own in flow.own_files)

    def filled(self) -> dict[str, Any]:
        """The experiment as a file would hold it, with units and with defaults filled in."""
        whole = self.model_dump(mode="json", by_alias=True, exclude_none=True)
        for flow, written in zip(self.flows, whole["flows"], strict=True):
            if flow.duration is None and not (flow.bounded or flow.serves):
                written["duration"] = units.format_time(self.duration - flow.start)
        head = {key: whole[key] for key in ("title", "topology")}
        params = {key: value for key, value in self.facts.params.items() if value is not None}
        return head | params | {key: whole[key] for key in whole if key not in head}
