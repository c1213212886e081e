"""What a link has, where it is more than a wire.

The topology's file says so by the names of Mininet's TCLink, or the experiment by `links`.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, NamedTuple

from pydantic import Field, PlainSerializer, PlainValidator, model_validator
from typing_extensions import Self

from sandglass.experiment import units
from sandglass.experiment.bottleneck import Timed, check_schedule
from sandglass.experiment.part import Part, read
from sandglass.experiment.queue import Queue
from sandglass.experiment.trace import AnyRate, TracedRate
from sandglass.experiment.values import LinkRate, Share, Time, percent

ALL_LINKS = "all"
"""Among the names of links: every link, below what single ones are given."""
MININET_NAMES = {
    "bw": "rate",
    "delay": "delay",
    "jitter": "jitter",
    "loss": "loss",
    "max_queue_size": "queue",
}
"""Of TCLink's parameters those that a link has here."""
NOT_TAKEN = ("enable_ecn", "enable_red", "use_hfsc", "use_tbf", "latency_ms", "speedup")
"""Of them those that choose a qdisc."""


class Bursts(Part):
    """Loss by the model of Gilbert and Elliott: a good state and a bad one.

    Whether the state changes is drawn with each packet.
    """

    to_bad: Share = Field(
        description="Probability of a change from good to bad, with each packet.", examples=["1%"]
    )
    to_good: Share = Field(
        description="Probability of a change back, with each packet.", examples=["25%"]
    )
    in_bad: Share = Field(
        default=1.0, description="Share of the packets lost in the bad state.", examples=["50%"]
    )
    in_good: Share = Field(
        default=0.0, description="Share of the packets lost in the good state.", examples=["0.1%"]
    )


def _loss(value: object) -> "float | Bursts":
    loss: float | Bursts = read(Bursts if isinstance(value, dict) else Share, value)
    return loss


def _as_written(loss: "float | Bursts") -> Any:
    return loss.model_dump(mode="json") if isinstance(loss, Bursts) else percent(loss)


Loss = Annotated[
    float | Bursts,
    PlainValidator(_loss, json_schema_input_type=Share | Bursts),
    PlainSerializer(_as_written),
]


class Direction(Part):
    """One direction of a link."""

    rate: AnyRate | None = Field(
        default=None,
        description="Rate; counts bytes on the wire, Ethernet header included. Default: none, so "
        "that a packet takes no time to send. Or a trace that it follows.",
        examples=["1gbit", {"trace": "wifi"}],
    )
    delay: Time | None = Field(
        default=None, description="Propagation delay, one way. Default: 0s.", examples=["2ms"]
    )
    jitter: Time | None = Field(
        default=None,
        description="Each packet's delay is drawn from delay plus or minus this, uniformly. "
        "Without a rate packets overtake each other.",
        examples=["500us"],
    )
    loss: Loss | None = Field(
        default=None,
        description="Share of the packets that are lost on the way, each by itself, or in bursts.",
        examples=["1%", {"to_bad": "1%", "to_good": "25%"}],
    )
    reorder: Share | None = Field(
        default=None,
        description="Share of the packets that are sent on without the delay.",
        examples=["1%"],
    )
    duplicate: Share | None = Field(
        default=None, description="Share of the packets that come twice.", examples=["0.1%"]
    )
    queue: Queue | None = Field(
        default=None,
        description="The queue before the link; only with a rate. Default: pfifo, 1000 packets.",
        examples=[{"kind": "fq_codel"}],
    )


class DirectionChange(Part):
    """What changes in one direction of a link."""

    rate: LinkRate | None = Field(
        default=None, description="The rate from then on.", examples=["5mbit"]
    )
    delay: Time | None = Field(
        default=None,
        description="The propagation delay from then on. Packets under way keep the old one.",
        examples=["50ms"],
    )
    loss: Loss | None = Field(
        default=None, description="The loss from then on.", examples=["1%", "0%"]
    )


class LinkChange(Timed, DirectionChange):
    """A change of a link, in both directions but for what `reverse` of the link gives."""

    reverse: DirectionChange = Field(
        default_factory=DirectionChange,
        description="A change of the other direction; only of what the link's own `reverse` gives.",
        examples=[{"rate": "1mbit"}],
    )

    @model_validator(mode="after")
    def _changes_something(self) -> Self:
        if not _given(self) and not _given(self.reverse):
            raise ValueError("changes nothing: give rate, delay, loss or reverse")
        return self


class LinkSettings(Direction):
    """A link between two nodes, in the direction in which its name is written.

    The other direction has the same but for what `reverse` gives.
    """

    reverse: Direction = Field(
        default_factory=Direction,
        description="The other direction, where it differs.",
        examples=[{"rate": "1mbit"}],
    )
    schedule: list[LinkChange] = Field(
        default_factory=list,
        description="Changes of rate, delay or loss over time, in order.",
        examples=[[{"at": "10s", "rate": "5mbit"}, {"at": "20s", "delay": "50ms"}]],
    )

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        check_schedule(self.schedule)
        return self


NOTHING = Direction()


class Step(NamedTuple):
    """What a link is from some time on."""

    at: int
    forward: Direction
    backward: Direction


@dataclass(frozen=True)
class Link:
    """A link between two nodes as a whole, by the name that it has in its topology."""

    name: str
    """Such as s1-r1; a second link between the two is s1-r1:2."""
    ends: tuple[str, str]
    forward: Direction
    """From the first to the second."""
    backward: Direction
    schedule: tuple[Step, ...] = ()
    """In order of time."""

    @property
    def states(self) -> list[Step]:
        """What it is from the start on, and from each change on."""
        return [Step(0, self.forward, self.backward), *self.schedule]

    @property
    def turned_name(self) -> str:
        """What it is called from the other end."""
        _, colon, number = self.name.partition(":")
        return f"{self.ends[1]}-{self.ends[0]}{colon}{number}"

    @property
    def plain(self) -> bool:
        """Whether it is a wire and nothing else."""
        return self.forward == self.backward == NOTHING and not self.schedule

    def changed(self, given: LinkSettings, *, turned: bool) -> "Link":
        """The link with what an experiment gives it, by either of its names."""
        own = _given(given.reverse)
        here, back = (self.backward, self.forward) if turned else (self.forward, self.backward)
        states = []
        parts: list[tuple[int, LinkSettings | LinkChange]] = [(0, given)]
        parts += [(change.at, change) for change in given.schedule]
        for at, part in parts:
            both, other = _given(part), _given(part.reverse)
            # Once a direction has something of its own, it keeps that.
            follows = {key: value for key, value in both.items() if key not in own}
            here = here.model_copy(update=both)
            back = back.model_copy(update=follows | other)
            states.append(Step(at, back, here) if turned else Step(at, here, back))
        (_, forward, backward), *schedule = states
        return replace(self, forward=forward, backward=backward, schedule=tuple(schedule))

    def problems(self) -> Iterator[str]:
        """Why it cannot be as it is."""
        yield from _problems(self.forward, self.backward)
        start = (self.forward, self.backward)
        for at, *ways in self.schedule:
            from_then = f"from {units.format_time(at)} on "
            for before, way in zip(start, ways, strict=True):
                if before.rate is not way.rate and isinstance(before.rate, TracedRate):
                    yield f"{from_then}has another rate, but follows a trace, which says how it is"
                elif before.rate is None and way.rate is not None:
                    yield f"{from_then}has a rate: give it one from the start"
                    break
            else:
                yield from (from_then + text for text in _problems(*ways))


def _problems(forward: Direction, backward: Direction) -> Iterator[str]:
    yield from dict.fromkeys(filter(None, map(_problem, (forward, backward))))
    if (forward.rate is None) != (backward.rate is None):
        yield "has a rate in one direction alone: give the other one too"


def _given(part: Part) -> dict[str, Any]:
    names = part.model_fields_set & Direction.model_fields.keys()
    return {name: getattr(part, name) for name in Direction.model_fields if name in names}


def _problem(way: Direction) -> str | None:
    delay = way.delay or 0
    if way.queue is not None and way.rate is None:
        return "has a queue, but no rate: nothing would wait in it"
    if (way.jitter or 0) > delay:
        jitter = units.format_time(way.jitter or 0)
        return (
            f"has a jitter of {jitter}, more than its delay, {units.format_time(delay)}: "
            "no packet comes before it is sent"
        )
    if way.reorder and not delay:
        return "reorders, but has no delay that a packet could be spared"
    return None


def of_mininet(name: str, ends: tuple[str, str], params: Mapping[str, Any]) -> Link:
    """A link of a topology, with what it has by the parameters of Mininet's TCLink.

    `bw` is in Mb/s, `delay` and `jitter` are texts, `loss` is in percent, `max_queue_size` in
    packets; `params1` and `params2` may hold them for one end each.
    Raises ValueError for values that TCLink does not take.
    """
    both = _of_mininet(params)
    forward, backward = (
        Direction.model_validate(both | _of_mininet(params.get(end) or {}))
        for end in ("params1", "params2")
    )
    return Link(name, ends, forward, backward)


def _of_mininet(params: Mapping[str, Any]) -> dict[str, Any]:
    given: dict[str, Any] = {}
    for name in NOT_TAKEN:
        if params.get(name):
            raise ValueError(f"{name} is not taken: say it by a queue, in `links`")
    for name, key in MININET_NAMES.items():
        value = params.get(name)
        if value is None:
            continue
        if name in ("delay", "jitter"):
            given[key] = str(value)
            continue
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if not number or not 0 <= value < math.inf:
            raise ValueError(f"{name}={value!r} is no number that a link could have")
        if name == "bw":
            given[key] = f"{round(value * 10**6)}bit"
        elif name == "loss":
            given[key] = f"{value}%"
        else:
            given[key] = {"kind": "pfifo", "limit": int(value)}
    return given
