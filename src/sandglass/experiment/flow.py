"""A flow of the experiment file: what all have, and what each workload's file adds."""

import functools
from typing import Annotated, Any, ClassVar, Literal

from pydantic import (
    Field,
    StrictBool,
    StrictInt,
    StrictStr,
    TypeAdapter,
    create_model,
    model_validator,
)
from typing_extensions import Self

from sandglass.agent import declare
from sandglass.agent.declare import Option
from sandglass.agent.plan import Options
from sandglass.experiment import own_files, values
from sandglass.experiment.own_files import Own
from sandglass.experiment.part import Part
from sandglass.experiment.problems import PartError, Problem
from sandglass.experiment.series import Series
from sandglass.experiment.sizes import AnySize, Objects, RandomSize, Sizes, planned, planned_each
from sandglass.experiment.trace import AnyTrace, Trace
from sandglass.experiment.values import CongestionControl, Duration, Host, Time
from sandglass.experiment.workload import Workload

QUANTITIES = {
    declare.RATE: values.Rate,
    declare.TIME: values.Time,
    declare.DURATION: values.Duration,
    declare.SIZE: values.Size,
}
PLAIN = {
    declare.FLAG: StrictBool,
    declare.TEXT: StrictStr,
    declare.TEXTS: Annotated[list[values.Word], Field(min_length=1)],
    declare.WORDS: dict[StrictStr, values.Word],
    declare.ARGV: own_files.Argv,
    declare.FILES: own_files.Files,
    declare.SERIES: dict[values.Named, Series],
}
OF_SIZES = {declare.RANDOM_SIZE: AnySize, declare.SIZES: Sizes, declare.OBJECTS: Objects}
SERVER = "The host that sends: the server."
CLIENT = "The host that fetches, and so opens the connections."


class Flow(Part):
    """One flow, or several alike."""

    kind: ClassVar[Workload]

    workload: str
    src: values.Sender = Field(
        alias="from",
        description="The host that opens the connection. A list of hosts stands for such a flow "
        "from each.",
        examples=["s1", ["s1", "s2"]],
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
        return self.dst if self.kind.receiver_opens else self.src

    @property
    def asks_for_ecn(self) -> bool:
        """Whether it says that its packets may be marked."""
        return bool(getattr(self, "ecn", False))

    @property
    def ip_version(self) -> int:
        """4 or 6."""
        version: int = getattr(self, "family", 4)
        return version

    @property
    def congestion_control(self) -> str | None:
        """That of its connections; None: the host's, or it has none."""
        name: str | None = getattr(self, "cc", None)
        return name

    @property
    def sizes(self) -> list[int | RandomSize | None]:
        """How much each of so many flows sends; None: as much as it can until its end."""
        size: int | list[int] | RandomSize | None = getattr(self, "size", None)
        return [*size] if isinstance(size, list) else [size]

    @property
    def bounded(self) -> bool:
        """Whether it ends by itself, when it has sent what it has to."""
        return self.kind.ends_by_itself or self.sizes != [None]

    @property
    def serves(self) -> bool:
        """Whether it is there before the others start, and until they have ended."""
        return self.kind.may_outlast and getattr(self, "role", None) == declare.SERVER

    @property
    def own_files(self) -> list[Own]:
        """What it names by paths from the experiment's file."""
        words = (word for argv in self.command_lines.values() for word in argv)
        return [*(word for word in words if isinstance(word, Own)), *self._files]

    @property
    def command_lines(self) -> dict[str, list[str | Own]]:
        """The programs that it starts, with their words, by its keys."""
        kinds = ((name, option.kind) for name, option in self.kind.options.items())
        return {name: getattr(self, name) or [] for name, kind in kinds if kind == declare.ARGV}

    @property
    def _files(self) -> list[Own]:
        options = self.kind.options.items()
        named = (getattr(self, name) for name, option in options if option.kind == declare.FILES)
        return [own for files in named for own in files or ()]

    @property
    def options(self) -> Options:
        """The workload's own keys, in base units."""
        return {
            name: _in_plan(option, getattr(self, name))
            for name, option in self.kind.options.items()
            if name not in ("size", "ecn")
        }

    @model_validator(mode="before")
    @classmethod
    def _with_defaults_of_ipv6(cls, given: Any) -> Any:
        if not isinstance(given, dict) or given.get("family") != 6:
            return given
        defaults = {name: option.default_ipv6 for name, option in cls.kind.options.items()}
        return {name: each for name, each in defaults.items() if each is not None} | given

    @model_validator(mode="after")
    def _between_two_hosts(self) -> Self:
        problems: list[Problem] = []
        if self.src == self.dst:
            problems.append((("to",), f"{self.dst} is also the sender: name another host"))
        if self.duration is not None and self.sizes != [None]:
            problems.append((("size",), "stands beside duration: give one of them"))
        elif self.duration is not None and self.bounded:
            problems.append((("duration",), f"a {self.kind.name} ends by itself: leave it out"))
        if self.serves:
            given = {"start": self.start, "start_within": self.start_within}
            text = "a server is there before the others, and until they end: leave it out"
            times = given | {"duration": self.duration}
            problems += [((key,), text) for key, value in times.items() if value]
        for key, argv in self.command_lines.items():
            wrong = own_files.wrong(argv, self._files)
            problems += [((key, index), text) for index, text in wrong]
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
        if self.cc in values.protocols_of_both_ends() and not self.ecn:
            message = f"is false, but {self.cc} always uses ECN: write ecn: true"
            raise PartError([(("ecn",), message)])
        return self


class Elsewhere(TcpFlow):
    """A workload of one's own. Its file says which keys it has."""

    workload: Annotated[StrictStr, Field(pattern=r"\.py$")] = Field(
        description="The path of a .py file, relative to the experiment's.",
        examples=["web.py"],
    )


@functools.cache
def model(workload: Workload) -> type[Flow]:
    """The keys of a workload's flows.

    Raises ValueError when its file declares a key that all flows have, or a kind that is none.
    """
    base = TcpFlow if workload.tcp else Flow
    fields: dict[str, Any] = {"workload": _named(workload)}
    if workload.receiver_opens:
        fields["src"] = (values.Sender, Field(alias="from", description=SERVER, examples=["s1"]))
        fields["dst"] = (Host, Field(alias="to", description=CLIENT, examples=["d1"]))
    if workload.ipv6:
        fields["family"] = (
            values.Family,
            Field(
                default=4,
                description="Addresses that its packets have: 4 of IPv4, 6 of IPv6.",
                examples=[6],
            ),
        )
    for name, option in workload.options.items():
        if name in base.model_fields or not name.isidentifier():
            raise ValueError(f"{workload.path}: OPTIONS: {name} cannot be a key of its own")
        fields[name] = _field(workload, name, option)
    made = create_model(
        workload.name.title().replace("_", ""), __base__=base, __doc__=workload.summary, **fields
    )
    made.kind = workload
    return made


def _named(workload: Workload) -> tuple[Any, Any]:
    name, about = workload.name, f"{workload.name}: {workload.summary}"
    if not workload.ours:
        return StrictStr, Field(description=workload.summary)
    if workload.argument is None:
        return Literal[name], Field(description=about)
    shape = rf"^{name}:[a-z0-9][a-z0-9_.-]*$"
    example = f"{name}:{workload.argument.example}"
    named = Annotated[StrictStr, Field(pattern=shape, examples=[example])]
    return named, Field(description=f"{workload.usage}: {workload.summary}")


def _field(workload: Workload, name: str, option: Option) -> tuple[Any, Any]:
    """A key as pydantic wants it: its type, and what the schema says of it."""
    if option.kind in QUANTITIES:
        kind: Any = QUANTITIES[option.kind]
    elif option.kind in (declare.WHOLE, declare.NUMBER):
        bounds = {"ge": option.least, "le": option.most}
        limits: Any = {key: bound for key, bound in bounds.items() if bound is not None}
        number = Field(strict=True, allow_inf_nan=False, **limits)
        whole = option.kind == declare.WHOLE
        kind = Annotated[StrictInt, Field(**limits)] if whole else Annotated[float, number]
    elif option.kind in PLAIN:
        kind = PLAIN[option.kind]
    elif option.kind in OF_SIZES:
        kind = OF_SIZES[option.kind]
    elif option.kind == declare.TRACE:
        kind = AnyTrace
    else:
        raise ValueError(f"{workload.path}: OPTIONS: {name}: there is no kind {option.kind}")
    about: dict[str, Any] = {"description": option.meaning, "examples": list(option.examples)}
    if option.default is declare.REQUIRED:
        return kind, Field(**about)
    if option.default is None:
        return kind | None, Field(default=None, **about)
    if option.kind in QUANTITIES:
        about["json_schema_extra"] = {"default": option.default}
    return kind, Field(default=TypeAdapter(kind).validate_python(option.default), **about)


def _in_plan(option: Option, value: Any) -> Any:
    if option.kind == declare.OBJECTS:
        return planned_each(value)
    if isinstance(value, Trace):
        return value.listed
    if option.kind in (declare.ARGV, declare.FILES):
        return [each.word if isinstance(each, Own) else each for each in value]
    if option.kind == declare.SERIES:
        return {name: series.planned for name, series in value.items()}
    return planned(value) if option.kind in OF_SIZES else value
