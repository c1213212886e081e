"""An experiment: a network, what flows through it, and for how long.

The models hold plain numbers (rates in bit/s, times in ns, sizes in bytes) and read and write the
texts with units that stand in the file. Their descriptions are the documentation of the file.
"""

import itertools
import re
from collections.abc import Callable, Iterable
from typing import Annotated, Any, Literal, Self

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    ModelWrapValidatorHandler,
    PlainSerializer,
    PlainValidator,
    PrivateAttr,
    StrictBool,
    StrictInt,
    StrictStr,
    Tag,
    TypeAdapter,
    ValidationError,
    WithJsonSchema,
    model_validator,
)

from sandglass.errors import nearest
from sandglass.experiment import qdiscs, units
from sandglass.experiment.problems import EMPTY, PartError, Problem, explain
from sandglass.experiment.topology import TopologyFacts

# Congestion controls of mainline; further ones come from kmods/tcp_<name>.
CONGESTION_CONTROLS = frozenset(
    [
        *["bbr", "bic", "cdg", "cubic", "dctcp", "highspeed", "htcp", "hybla", "illinois", "lp"],
        *["nv", "reno", "scalable", "vegas", "veno", "westwood", "yeah"],
    ]
)
# Those that are protocols of both ends, and always use ECN.
DCTCPS = frozenset(["dctcp", "dctcp_inet", "lsaimd_dctcp"])
RECORDS = ("packets", "acks", "queues", "goodput")
DEFAULT_RECORDS = ("packets", "acks", "queues")
HTML_HEAD, HTML_LINE = 100, 20  # bytes that hold the head of a page, and the name of an object
LARGEST_UDP = 65507  # bytes of payload in an IPv4 packet
RTP_HEADER = 12  # bytes, without contributing sources: RFC 3550, section 5.1

# --- Values ---------------------------------------------------------------------------------------


def _quantity(
    parse: Callable[[object], Any], write: Callable[[Any], str | int], units_: Iterable[str]
) -> tuple[BeforeValidator, PlainSerializer, WithJsonSchema]:
    pattern = rf"^\s*(\d+(\.\d+)?|\.\d+)\s*({'|'.join(units_)})\s*$"
    return (
        BeforeValidator(parse),
        PlainSerializer(write),
        WithJsonSchema({"type": "string", "pattern": pattern}),
    )


def _duration(text: object) -> int:
    ns = units.parse_time(text)
    if ns == 0:
        raise ValueError("0 is no time to run: write a longer one, such as 10s")
    return ns


def _name(text: object, noun: str, shape: str = r"[A-Za-z0-9][A-Za-z0-9_-]*") -> str:
    if not isinstance(text, str):
        raise ValueError(f"{units.shown(text)} is not the name of a {noun}: write text")
    if not re.fullmatch(shape, text):
        raise ValueError(f"{units.shown(text)} is not the name of a {noun}: use letters, digits, _")
    return text


def _qdisc(text: object) -> str:
    kind = _name(text, "qdisc")
    qdiscs.check_kind(kind)
    return kind


def _congestion_control(text: object) -> str:
    name = _name(text, "congestion control")
    known = CONGESTION_CONTROLS | qdiscs.modules("tcp_")
    if name not in known:
        raise ValueError(
            f"unknown congestion control '{name}'{nearest(name, known)} "
            f"Use one of {', '.join(sorted(known))}, or add a module kmods/tcp_<name>"
        )
    return name


def _sysctls(value: object) -> dict[str, str]:
    if not isinstance(value, dict):
        raise ValueError(
            f"{units.shown(value)} is not a mapping: write names and values, "
            "such as {net.ipv4.tcp_sack: 0}"
        )
    problems: list[Problem] = []
    for name, setting in value.items():
        if not re.fullmatch(r"net(\.[A-Za-z0-9_-]+)+", str(name)):
            problems.append(
                (
                    (str(name),),
                    "not a sysctl of a host: its name begins with net., such as net.ipv4.tcp_sack",
                )
            )
        elif isinstance(setting, bool) or not isinstance(setting, str | int):
            problems.append(
                ((name,), f"{units.shown(setting)} is not a sysctl's value: write a number or text")
            )
    if problems:
        raise PartError(problems)
    return {name: str(setting) for name, setting in value.items()}


def _record(value: object) -> list[str]:
    accepted = f"write a list of some of {', '.join(RECORDS)}, or []"
    if not isinstance(value, list):
        raise ValueError(f"{units.shown(value)} is not a list: {accepted}")
    problems: list[Problem] = []
    for index, name in enumerate(value):
        if name not in RECORDS:
            near = nearest(str(name), RECORDS)
            problems.append(((index,), f"unknown record '{units.shown(name)}'{near} {accepted}"))
        elif name in value[:index]:
            problems.append(((index,), f"{name} stands there twice: name it once"))
    if problems:
        raise PartError(problems)
    return [name for name in RECORDS if name in value]


Rate = Annotated[int, *_quantity(units.parse_rate, units.format_rate, units.RATES)]
Time = Annotated[int, *_quantity(units.parse_time, units.format_time, units.TIMES)]
Duration = Annotated[int, *_quantity(_duration, units.format_time, units.TIMES)]
Size = Annotated[int, *_quantity(units.parse_size, units.format_size, units.SIZES)]
Length = Annotated[
    units.QueueLength,
    BeforeValidator(units.parse_length),
    PlainSerializer(units.format_length),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "integer", "minimum": 0},
                {
                    "type": "string",
                    "pattern": r"^\s*(\d+(\.\d+)?|\.\d+)\s*"
                    rf"(|p|bdp|{'|'.join([*units.SIZES, *units.TIMES])})\s*$",
                },
            ]
        }
    ),
]
NAME = WithJsonSchema({"type": "string", "pattern": "^[A-Za-z0-9][A-Za-z0-9_-]*$"})
Kind = Annotated[str, BeforeValidator(_qdisc), NAME]
CongestionControl = Annotated[str, BeforeValidator(_congestion_control), NAME]
Host = Annotated[str, BeforeValidator(lambda text: _name(text, "host")), NAME]
Sysctls = Annotated[
    dict[str, str],
    BeforeValidator(_sysctls),
    WithJsonSchema(
        {
            "type": "object",
            "propertyNames": {"pattern": r"^net(\.[A-Za-z0-9_-]+)+$"},
            "additionalProperties": {"type": ["string", "integer"]},
        }
    ),
]
Record = Annotated[
    list[str],
    BeforeValidator(_record),
    WithJsonSchema({"type": "array", "items": {"enum": list(RECORDS)}, "uniqueItems": True}),
]


# --- The parts of the file ------------------------------------------------------------------------


class Part(BaseModel):
    """A mapping of the file with a fixed set of keys."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    @model_validator(mode="wrap")
    @classmethod
    def _say_what_is_wrong(cls, data: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        empty = [key for key in data if data[key] is None] if isinstance(data, dict) else []
        problems: list[Problem] = [((str(key),), EMPTY) for key in empty]
        known = [at for at, _ in problems]
        given = {key: data[key] for key in data if key not in empty} if empty else data
        try:
            part = handler(given)
            if not problems:
                return part
        except ValidationError as error:
            problems += [(at, text) for at, text in explain(error, cls) if at[:1] not in known]
        raise PartError(problems)


def _options_of_each_kind(schema: dict[str, Any]) -> None:
    word = {"type": ["string", "number", "boolean"]}
    schema["additionalProperties"] = {"anyOf": [word, {"type": "array", "items": word}]}
    schema["allOf"] = [
        {
            "if": {"properties": {"kind": {"const": kind}}},
            "then": {"propertyNames": {"enum": ["kind", *options]}},
        }
        for kind, options in qdiscs.KINDS.items()
    ]


class Queue(Part):
    """A qdisc of tc. Keys besides kind and limit are options of that qdisc, by their tc names."""

    model_config = ConfigDict(extra="allow", frozen=True, json_schema_extra=_options_of_each_kind)

    kind: Kind = Field(
        description="The qdisc: any of mainline that can stand alone, or one of kmods/sch_<name>.",
        examples=["codel", "fq_codel", "pie", "pfifo"],
    )
    limit: Length | None = Field(
        default=None,
        description="The longest the queue may grow: packets (64p), a size (100kB), a time at the "
        "bottleneck's rate (50ms) or a share of the BDP (0.5bdp). A plain number counts in the "
        "kind's own unit: bytes for bfifo and red, else packets. Default: the kernel's.",
        examples=[1000, "64p", "100kB", "50ms", "0.5bdp"],
    )

    @property
    def options(self) -> dict[str, Any]:
        """tc's options besides `limit`, as they stand in the file."""
        return self.model_extra or {}

    @model_validator(mode="after")
    def _options_are_tcs(self) -> Self:
        problems: list[Problem] = []
        given = self.options
        if self.limit is not None:
            given = {"limit": units.format_length(self.limit)} | given
        for option, value in given.items():
            try:
                qdiscs.words(self.kind, option, value)
            except ValueError as error:
                problems.append(((option,), str(error)))
        if self.limit is not None and self.limit.amount == 0:
            problems.append((("limit",), "0 leaves no room for a packet: write 1 or more"))
        problems += [
            ((option,), f"is missing: {self.kind} needs it")
            for option in qdiscs.REQUIRED.get(self.kind, ())
            if option not in given
        ]
        if problems:
            raise PartError(problems)
        return self


class Reverse(Part):
    """The direction from receivers to senders, where it differs from the forward direction."""

    rate: Rate | None = Field(
        default=None,
        description="Rate of the link. Default: the forward rate, at all times.",
        examples=["1mbit"],
    )
    queue: Queue | None = Field(
        default=None,
        description="The queue before the link. Default: as forward.",
        examples=[{"kind": "pfifo", "limit": 100}],
    )


class ReverseChange(Part):
    """What changes in the reverse direction."""

    rate: Rate = Field(description="The reverse rate from then on.", examples=["1mbit"])


class Change(Part):
    """A change of the path while the experiment runs."""

    at: Time = Field(
        description="When, from the start of the experiment; before its end.", examples=["30s"]
    )
    rate: Rate | None = Field(
        default=None,
        description="The rate from then on; in both directions unless reverse.rate is given.",
        examples=["5mbit"],
    )
    rtt: Time | None = Field(
        default=None,
        description="The base round trip from then on, for hosts without an rtt of their own. "
        "Packets under way keep the old delay.",
        examples=["200ms"],
    )
    reverse: ReverseChange | None = Field(
        default=None,
        description="A change of the reverse direction; only where the bottleneck has a "
        "reverse.rate.",
        examples=[{"rate": "1mbit"}],
    )

    @model_validator(mode="after")
    def _changes_something(self) -> Self:
        if self.rate is None and self.rtt is None and self.reverse is None:
            raise ValueError("changes nothing: give rate, rtt or reverse")
        return self


def _check_schedule(schedule: list[Change]) -> None:
    for index, (before, change) in enumerate(itertools.pairwise(schedule), start=1):
        if change.at <= before.at:
            text = f"{units.format_time(change.at)} is not after {units.format_time(before.at)}"
            raise PartError(
                [(("schedule", index, "at"), f"{text}: put the changes in order, one for a time")]
            )


class BottleneckOverride(Part):
    """What one bottleneck of a topology with several has of its own; the rest is as for all."""

    rate: Rate | None = Field(default=None, description="Rate of the link.", examples=["10mbit"])
    queue: Queue | None = Field(
        default=None, description="The queue before the link.", examples=[{"kind": "pie"}]
    )
    reverse: Reverse | None = Field(
        default=None, description="The reverse direction.", examples=[{"rate": "1mbit"}]
    )
    schedule: list[Change] | None = Field(
        default=None,
        description="Changes of the rate over time, in order; replaces the schedule for all.",
        examples=[[{"at": "30s", "rate": "5mbit"}]],
    )

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        _check_schedule(self.schedule or [])
        return self


class Bottleneck(Part):
    """A slow link between two routers, with its queue on the router before it."""

    rate: Rate = Field(
        description="Rate of the link; counts bytes on the wire, Ethernet header included.",
        examples=["20mbit"],
    )
    queue: Queue = Field(
        description="The queue before the link.", examples=[{"kind": "codel", "limit": 1000}]
    )
    reverse: Reverse = Field(
        default_factory=Reverse,
        description="The reverse direction. Default: as forward.",
        examples=[{"rate": "1mbit"}],
    )
    schedule: list[Change] = Field(
        default_factory=list,
        description="Changes of rate or round trip over time, in order.",
        examples=[[{"at": "30s", "rate": "5mbit"}, {"at": "60s", "rtt": "200ms"}]],
    )

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        _check_schedule(self.schedule)
        return self

    def overridden(self, override: BottleneckOverride | None) -> "Bottleneck":
        """This bottleneck with the keys that `override` gives in place of its own."""
        if override is None:
            return self
        given = {key: getattr(override, key) for key in override.model_fields_set}
        return self.model_copy(update=given)


class HostSettings(Part):
    """What one host has of its own."""

    sysctls: Sysctls = Field(
        default_factory=dict,
        description="Sysctls of the host's network namespace, by their full names.",
        examples=[{"net.ipv4.tcp_sack": 0}],
    )
    initcwnd: Annotated[StrictInt, Field(ge=1, le=65535)] | None = Field(
        default=None,
        description="Initial window in packets. Default: the kernel's, 10.",
        examples=[3],
    )
    rtt: Time | None = Field(
        default=None,
        description="Base round trip of this host's flows; holds for its partner (s1 and d1) too, "
        "unless that has its own. Default: the experiment's rtt.",
        examples=["60ms"],
    )
    access_rate: Rate | None = Field(
        default=None,
        description="Rate of the host's own link. Default: unlimited.",
        examples=["1gbit"],
    )
    mtu: Annotated[StrictInt, Field(ge=576, le=65535)] = Field(
        default=1500, description="MTU of the host's interface, in bytes.", examples=[9000]
    )
    delayed_ack: StrictBool = Field(
        default=True,
        description="Whether the host delays its ACKs, as Linux does.",
        examples=[False],
    )
    pacing: StrictBool = Field(
        default=False, description="Whether the host's TCP paces its packets.", examples=[True]
    )


class Lognormal(Part):
    """A lognormal distribution of sizes; what falls outside of its bounds is moved to them."""

    median: Size = Field(description="Half of the sizes are smaller.", examples=["30kB"])
    sigma: Annotated[float, Field(strict=True, ge=0, le=10, allow_inf_nan=False)] = Field(
        description="Standard deviation of the sizes' natural logarithm.", examples=[1.2]
    )
    least: Size = Field(
        default=1,
        description="Smaller sizes become this.",
        examples=["1kB"],
        json_schema_extra={"default": "1B"},
    )
    most: Size = Field(description="Larger sizes become this.", examples=["1MB"])

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if not self.least <= self.median <= self.most:
            values = (self.least, self.median, self.most)
            least, median, most = map(units.format_size, values)
            text = f"{median} is not between least and most, {least} and {most}"
            raise PartError([(("median",), text)])
        return self


class RandomSize(Part):
    """A size that each flow draws for itself; the seed decides."""

    lognormal: Lognormal = Field(
        description="From a lognormal distribution.",
        examples=[{"median": "30kB", "sigma": 1.2, "least": "1kB", "most": "1MB"}],
    )


def _one_or_random(value: object) -> Any:
    return _read(RandomSize if isinstance(value, dict) else Size, value)


def _one_or_more(value: object) -> Any:
    return _read(SizeList if isinstance(value, list) else AnySize, value)


def _read(kind: Any, value: object) -> Any:
    """A value of one kind; only that kind's problems are told, not those of all that it may be."""
    try:
        return TypeAdapter(kind).validate_python(value)
    except ValidationError as error:
        raise PartError(explain(error, Part)) from None


def _sizes_as_written(sizes: int | list[int] | Part) -> Any:
    match sizes:
        case int():
            return units.format_size(sizes)
        case list():
            return [units.format_size(each) for each in sizes]
    return sizes.model_dump(mode="json")


def planned_size(size: "int | RandomSize") -> Any:
    """A size as it stands in the plan: bytes, or the distribution to draw them from."""
    return {"lognormal": dict(size.lognormal)} if isinstance(size, RandomSize) else size


SizeList = Annotated[list[Size], Field(min_length=1)]
AnySize = Annotated[
    int | RandomSize,
    PlainValidator(_one_or_random, json_schema_input_type=Size | RandomSize),
    PlainSerializer(_sizes_as_written),
]
Sizes = Annotated[
    int | list[int] | RandomSize,
    PlainValidator(_one_or_more, json_schema_input_type=Size | SizeList | RandomSize),
    PlainSerializer(_sizes_as_written),
]


SENT = "How much it sends, instead of a duration; a list gives a flow for each of its sizes."
SOME_SIZES = [
    "500kB",
    ["10kB", "100kB"],
    {"lognormal": {"median": "30kB", "sigma": 1.2, "most": "1MB"}},
]


class Flow(Part):
    """One flow, or several alike."""

    workload: str
    src: Host = Field(
        alias="from", description="The host that opens the connection.", examples=["s1"]
    )
    dst: Host = Field(alias="to", description="The host at the other end.", examples=["d1"])
    start: Time = Field(
        default=0,
        description="When it starts, from the start of the experiment.",
        examples=["5s"],
        json_schema_extra={"default": "0s"},
    )
    duration: Duration | None = Field(
        default=None,
        description="How long it lasts. Default: until the end of the experiment.",
        examples=["30s"],
    )
    start_within: Time = Field(
        default=0,
        description="A random delay of the start, uniform from 0 to this; the seed decides.",
        examples=["1s"],
        json_schema_extra={"default": "0s"},
    )
    count: Annotated[StrictInt, Field(ge=1, le=1000)] = Field(
        default=1,
        description="How many such flows, all starting together but for start_within.",
        examples=[10],
    )

    @property
    def opener(self) -> str:
        """The host that opens the connection."""
        return self.src

    @property
    def sizes(self) -> "list[int | RandomSize | None]":
        """How much each of so many flows sends; None: as much as it can until its end."""
        size: int | list[int] | RandomSize | None = getattr(self, "size", None)
        return [*size] if isinstance(size, list) else [size]

    @property
    def bounded(self) -> bool:
        """Whether it ends by itself, when it has sent what it has to."""
        return self.sizes != [None]

    @property
    def options(self) -> dict[str, Any]:
        """The workload's own keys, in base units."""
        return {
            key: getattr(self, key)
            for key in type(self).model_fields
            if key not in TcpFlow.model_fields and key != "size"
        } | (self.model_extra or {})

    @model_validator(mode="after")
    def _between_two_hosts(self) -> Self:
        problems: list[Problem] = []
        if self.src == self.dst:
            problems.append((("to",), f"{self.dst} is also the sender: name another host"))
        if self.duration is not None and self.sizes != [None]:
            problems.append((("size",), "stands beside duration: give one of them"))
        if problems:
            raise PartError(problems)
        return self


class TcpFlow(Flow):
    """What flows over TCP may set."""

    cc: CongestionControl | None = Field(
        default=None,
        description="Congestion control of the flow. Default: the host's, cubic.",
        examples=["cubic", "reno", "dctcp"],
    )
    ecn: StrictBool = Field(
        default=False,
        description="Whether the host that opens the connection asks for ECN. Linux keeps it per "
        "host, so all flows that one host opens must agree.",
        examples=[True],
    )

    @model_validator(mode="after")
    def _dctcp_asks_for_ecn(self) -> Self:
        if self.cc in DCTCPS and not self.ecn:
            message = f"is false, but {self.cc} always uses ECN: write ecn: true"
            raise PartError([(("ecn",), message)])
        return self


class Bulk(TcpFlow):
    """Sends as fast as TCP allows (netperf), for a time or a number of bytes."""

    workload: Literal["bulk"] = Field(description="bulk: sends as fast as TCP allows.")
    size: Sizes | None = Field(default=None, description=SENT, examples=SOME_SIZES)


class Restart(TcpFlow):
    """Sends, falls silent, and sends again over the same connection."""

    workload: Literal["restart"] = Field(
        description="restart: sends several times over one connection, with pauses."
    )
    size: Sizes = Field(
        description="How much it sends in each round; a list gives a flow for each of its sizes.",
        examples=SOME_SIZES,
    )
    rounds: Annotated[StrictInt, Field(ge=2, le=1000)] = Field(
        description="How often it sends.", examples=[3]
    )
    pause: Duration = Field(
        description="Time from the end of a round at the receiver to the start of the next.",
        examples=["1s"],
    )


class WebFlow(TcpFlow):
    """What nginx sends to a client that asks for it."""

    src: Host = Field(alias="from", description="The host that sends: the server.", examples=["s1"])
    dst: Host = Field(
        alias="to",
        description="The host that fetches, and so opens the connections.",
        examples=["d1"],
    )

    @property
    def opener(self) -> str:
        return self.dst


class Http(WebFlow):
    """A file over HTTP: nginx serves it, curl fetches it."""

    workload: Literal["http"] = Field(description="http: a file from nginx to curl.")
    size: Sizes = Field(
        description="Size of the file; a list gives a flow for each of its sizes.",
        examples=SOME_SIZES,
    )


class ObjectSizes(Part):
    """So many objects of a page, each with its size."""

    count: Annotated[StrictInt, Field(ge=1, le=1000)] = Field(
        description="How many objects.", examples=[40]
    )
    size: AnySize = Field(
        description="The size of each; from a distribution each draws its own.",
        examples=["12kB", {"lognormal": {"median": "12kB", "sigma": 1.2, "most": "1MB"}}],
    )

    @property
    def each(self) -> list[int | RandomSize]:
        """The size of each."""
        return [self.size] * self.count


def _list_or_alike(value: object) -> Any:
    return _read(ObjectSizes if isinstance(value, dict) else SizeList, value)


Objects = Annotated[
    list[int] | ObjectSizes,
    PlainValidator(_list_or_alike, json_schema_input_type=SizeList | ObjectSizes),
    PlainSerializer(_sizes_as_written),
]


class Page(WebFlow):
    """A web page: HTML and the objects that it names, fetched over six connections."""

    workload: Literal["page"] = Field(description="page: a web page, from nginx.")
    html: Size = Field(description="Size of the HTML.", examples=["30kB"])
    objects: Objects = Field(
        description="Sizes of the objects that the HTML names, in its order: a list, or how many "
        "and of which size.",
        examples=[["10kB", "100kB"], {"count": 40, "size": "12kB"}],
    )

    @property
    def bounded(self) -> bool:
        return True

    @property
    def options(self) -> dict[str, Any]:
        each = self.objects.each if isinstance(self.objects, ObjectSizes) else self.objects
        return {"html": self.html, "objects": [planned_size(size) for size in each]}

    @model_validator(mode="after")
    def _ends_when_it_is_loaded(self) -> Self:
        problems: list[Problem] = []
        if self.duration is not None:
            problems.append((("duration",), "a page lasts until it is loaded: leave it out"))
        least = HTML_HEAD + HTML_LINE * len(self.options["objects"])
        if self.html < least:
            text = (
                f"{units.format_size(self.html)} is too small to name "
                f"{len(self.options['objects'])} objects: write {units.format_size(least)} or more"
            )
            problems.append((("html",), text))
        if problems:
            raise PartError(problems)
        return self


class Udp(Flow):
    """Sends UDP packets at a steady rate."""

    workload: Literal["udp"] = Field(description="udp: sends packets at a steady rate.")
    rate: Rate = Field(
        description="Sending rate; counts the UDP payload alone.", examples=["5mbit"]
    )
    packet_size: Annotated[StrictInt, Field(ge=16, le=LARGEST_UDP)] = Field(
        default=1472, description="UDP payload of a packet, in bytes.", examples=[172]
    )
    burst: Annotated[StrictInt, Field(ge=1, le=10000)] = Field(
        default=1, description="Packets sent back to back; the mean rate stays.", examples=[10]
    )
    ecn: StrictBool = Field(
        default=False,
        description="Whether the packets say that they can be marked, ECT(0).",
        examples=[True],
    )

    def packets(self, time_ns: int) -> int:
        """How many it sends in so long a time, but for the last."""
        return self.rate * time_ns // 10**9 // 8 // self.packet_size


class Media(Flow):
    """An audio flow over UDP: packets of one size at a steady interval, as RTP carries them."""

    workload: Literal["media"] = Field(description="media: audio at a constant bit rate.")
    rate: Rate = Field(
        default=16_000,
        description="Bit rate of the audio, without headers.",
        examples=["16kbit"],
        json_schema_extra={"default": "16kbit"},
    )
    interval: Duration = Field(
        default=units.parse_time("20ms"),
        description="Time between two packets, and so what a packet holds.",
        examples=["20ms"],
        json_schema_extra={"default": "20ms"},
    )
    playout_delay: Duration = Field(
        default=units.parse_time("150ms"),
        description="A packet is played so long after it was sent; one that comes later is lost "
        "to the listener. Up to 150 ms a conversation is hardly disturbed (ITU-T G.114).",
        examples=["150ms"],
        json_schema_extra={"default": "150ms"},
    )

    @property
    def packet_size(self) -> int:
        """UDP payload of a packet, in bytes: audio and the header of RTP."""
        return self.rate * self.interval // (8 * 10**9) + RTP_HEADER

    @property
    def options(self) -> dict[str, Any]:
        return super().options | {"packet_size": self.packet_size}

    def packets(self, time_ns: int) -> int:
        """How many it sends in so long a time, but for the last."""
        return time_ns // self.interval

    @model_validator(mode="after")
    def _fills_packets(self) -> Self:
        if self.rate * self.interval % (8 * 10**9) or not 16 <= self.packet_size <= LARGEST_UDP:
            held = self.rate * self.interval / (8 * 10**9)
            text = (
                f"{units.format_time(self.interval)} at {units.format_rate(self.rate)} are "
                f"{held:g} bytes of audio: choose rate and interval for a whole number "
                f"from {16 - RTP_HEADER} to {LARGEST_UDP - RTP_HEADER}"
            )
            raise PartError([(("interval",), text)])
        return self


class Ping(Flow):
    """Sends ICMP echo requests."""

    workload: Literal["ping"] = Field(description="ping: sends ICMP echo requests.")
    interval: Duration = Field(
        default=units.parse_time("1s"),
        description="Time between two requests.",
        examples=["200ms"],
        json_schema_extra={"default": "1s"},
    )


class Flent(TcpFlow):
    """Runs a test of flent, and keeps its .flent.gz."""

    workload: Annotated[
        StrictStr, Field(pattern=r"^flent:[a-z0-9][a-z0-9_.-]*$", examples=["flent:rrul"])
    ] = Field(description="flent:<test>: any test of flent.")


class Custom(TcpFlow):
    """Any other workload, a file workloads/<name>.py. Its own keys are handed to it as written."""

    model_config = ConfigDict(extra="allow", frozen=True, regex_engine="python-re")

    workload: Annotated[
        StrictStr,
        Field(
            pattern=r"^(?!(bulk|restart|http|page|udp|media|ping)$)[a-z][a-z0-9_]*$",
            examples=["web"],
        ),
    ] = Field(description="The name of a file in workloads/.")
    size: Sizes | None = Field(default=None, description=SENT, examples=SOME_SIZES)

    @model_validator(mode="after")
    def _options_are_plain(self) -> Self:
        problems: list[Problem] = [
            ((key,), f"{units.shown(value)} is not a value: write text, a number, true or false")
            for key, value in (self.model_extra or {}).items()
            if not isinstance(value, str | int | float | bool)
        ]
        if problems:
            raise PartError(problems)
        return self


BUILT_IN: dict[str, type[Flow]] = {
    "bulk": Bulk,
    "restart": Restart,
    "http": Http,
    "page": Page,
    "udp": Udp,
    "media": Media,
    "ping": Ping,
}


def flow_kind(workload: object) -> type[Flow]:
    """The model that knows the keys of a workload."""
    name = str(workload)
    return Flent if name.startswith("flent:") else BUILT_IN.get(name, Custom)


def _tag(value: Any) -> str:
    return flow_kind(value["workload"] if isinstance(value, dict) else value.workload).__name__


AnyFlow = Annotated[
    Annotated[Bulk, Tag("Bulk")]
    | Annotated[Restart, Tag("Restart")]
    | Annotated[Http, Tag("Http")]
    | Annotated[Page, Tag("Page")]
    | Annotated[Udp, Tag("Udp")]
    | Annotated[Media, Tag("Media")]
    | Annotated[Ping, Tag("Ping")]
    | Annotated[Flent, Tag("Flent")]
    | Annotated[Custom, Tag("Custom")],
    Discriminator(_tag),
]


class Experiment(Part):
    """A network, what flows through it, and for how long."""

    # Keys that are not listed are parameters of a topology of the user's own.
    model_config = ConfigDict(extra="allow", frozen=True)

    title: StrictStr = Field(description="One line that says what the experiment shows.")
    topology: StrictStr = Field(
        description="The name of a file in topologies/, or the path of a .py file, relative to "
        "the experiment's. Further keys at this level are parameters of the topology.",
        examples=["dumbbell", "parking_lot", "star", "dumbbell_ovs"],
    )
    rtt: Time = Field(
        description="Base round trip: propagation only, half in each direction, after the "
        "bottleneck. BDP refers to it.",
        examples=["100ms"],
    )
    rtt_spread: Time = Field(
        default=0,
        description="The base round trip of a run is drawn from rtt plus or minus this, uniformly; "
        "the seed decides.",
        examples=["10ms"],
        json_schema_extra={"default": "0s"},
    )
    bottleneck: Bottleneck = Field(
        description="The slow link; in a topology with several, what holds for each of them.",
        examples=[{"rate": "20mbit", "queue": {"kind": "codel"}}],
    )
    bottlenecks: dict[str, BottleneckOverride] = Field(
        default_factory=dict,
        description="What single bottlenecks of a topology with several have of their own, "
        "by their names.",
        examples=[{"hop2": {"rate": "10mbit"}}],
    )
    flows: Annotated[list[AnyFlow], Field(min_length=1)] = Field(
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
        "time; small). [] records nothing.",
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

    _facts: TopologyFacts = PrivateAttr()

    @property
    def parameters(self) -> dict[str, Any]:
        """The topology's parameters as given in the file."""
        return self.model_extra or {}

    @property
    def facts(self) -> TopologyFacts:
        """The topology's hosts and bottlenecks, as found when the experiment was loaded."""
        return self._facts

    def filled(self) -> dict[str, Any]:
        """The experiment as a file would hold it, with units and with defaults filled in."""
        whole = self.model_dump(mode="json", by_alias=True, exclude_none=True)
        for flow, written in zip(self.flows, whole["flows"], strict=True):
            if flow.duration is None and not flow.bounded:
                written["duration"] = units.format_time(self.duration - flow.start)
        head = {key: whole[key] for key in ("title", "topology")}
        return head | self.facts.params | {key: whole[key] for key in whole if key not in head}
