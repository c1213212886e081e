"""Traces of a link's opportunities to send, in Mahimahi's format.

Netravali et al., "Mahimahi: Accurate Record-and-Replay for HTTP", USENIX ATC 2015. A file has a
number in each line: the millisecond, since the start, in which one packet of 1500 bytes may leave.
Equal numbers are several in that millisecond. After the last one the trace begins again, with that
one as time zero.
"""

import bisect
import contextlib
import itertools
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, PlainSerializer, PlainValidator, ValidationInfo

from sandglass.agent.plan import OPPORTUNITY_BITS
from sandglass.errors import nearest
from sandglass.experiment import synthetic, units
from sandglass.experiment.part import Part, read
from sandglass.experiment.problems import PartError
from sandglass.experiment.values import SLOWEST_LINK, LinkRate, time_or

LONGEST_MS = 2**32 - 1
"""What the qdisc counts in."""
RANDOM = "random"
BESIDE = "beside"
"""The key of the validation's context: the directory that paths are relative to."""


@dataclass(frozen=True)
class Trace:
    """Opportunities to send."""

    name: str
    """As the experiment calls it: one of `synthetic`, or the path of a file."""
    ms: tuple[int, ...]
    """When each is; never decreasing, the last one above 0."""

    @property
    def period_ms(self) -> int:
        """After which it begins again."""
        return self.ms[-1]

    @property
    def mean_bps(self) -> int:
        """Its mean rate in bit/s, of packets with 1500 bytes."""
        return OPPORTUNITY_BITS * len(self.ms) * 1000 // self.period_ms

    @property
    def listed(self) -> str:
        """Its numbers, with commas between."""
        return ",".join(map(str, self.ms))

    @property
    def text(self) -> str:
        """As a file has it."""
        return "".join(f"{ms}\n" for ms in self.ms)

    @property
    def copy(self) -> str | None:
        """What a run calls its copy of it, if it is a file of the user's."""
        return None if self.name in synthetic.TRACES else copy_of(self.name)

    def rates(self, bin_ms: int) -> list[int]:
        """Its rate in bit/s in each whole bin of one period."""
        edges = range(0, self.period_ms + 1, bin_ms)
        # The opportunity at the end of a bin closes it.
        counts = [bisect.bisect_right(self.ms, edge) for edge in edges]
        return [
            (after - before) * OPPORTUNITY_BITS * 1000 // bin_ms
            for before, after in itertools.pairwise(counts)
        ]


def copy_of(path: str) -> str:
    """What a run calls its copy of a user's file of times."""
    return f"times-{Path(path).name}"


def parsed(text: str, name: str) -> Trace:
    """The trace in a file's text.

    Raises ValueError that names the line which is not as it should be.
    """
    numbers: list[int] = []
    for count, line in enumerate(text.splitlines(), start=1):
        if not (line.isascii() and line.isdigit()):
            raise ValueError(
                f"{name}, line {count}: {units.shown(line)} is no whole number of ms: a trace has "
                "one in each line, and no line is empty"
            )
        if int(line) > LONGEST_MS:
            raise ValueError(f"{name}, line {count}: {units.shown(line)} ms is too late")
        if numbers and int(line) < numbers[-1]:
            raise ValueError(
                f"{name}, line {count}: {line} is before {numbers[-1]}, the line before: "
                "put them in order"
            )
        numbers.append(int(line))
    if not numbers:
        raise ValueError(f"{name} is empty: a trace has at least one opportunity")
    if not numbers[-1]:
        raise ValueError(f"{name}: the last opportunity is at 0 ms, so that it has no length")
    return Trace(name, tuple(numbers))


def find(name: object, beside: Path) -> Trace:
    """The trace that an experiment in the directory `beside` calls so.

    Raises ValueError, with what to write instead.
    """
    if not isinstance(name, str):
        raise ValueError(f"{units.shown(name)} is no trace: write a name or the path of a file")
    if name in synthetic.TRACES:
        return Trace(name, synthetic.opportunities(name))
    with contextlib.suppress(OSError):  # such as a name that is too long for one
        if (beside / name).is_file():
            try:
                return parsed((beside / name).read_text(), name)
            except UnicodeDecodeError:
                raise ValueError(f"{name} is no text") from None
    near = nearest(name, synthetic.TRACES)
    accepted = f"Use one of {', '.join(synthetic.TRACES)}, or the path of a file"
    raise ValueError(f"no trace {units.shown(name)}{near} {accepted}")


def _find(name: object, info: ValidationInfo) -> Trace:
    return find(name, (info.context or {}).get(BESIDE, Path()))


AnyTrace = Annotated[
    Trace,
    PlainValidator(_find, json_schema_input_type=str),
    PlainSerializer(lambda trace: trace.name, return_type=str),
]


class Replay(Part):
    """A rate that follows a trace."""

    trace: AnyTrace = Field(
        description="One of cellular, wifi and satellite, which are synthetic, or the path of a "
        "file in Mahimahi's format, relative to the experiment's.",
        examples=["cellular"],
    )
    start: time_or(RANDOM) = Field(  # type: ignore[valid-type]
        default=0,
        description="Where in the trace the experiment begins; random: the seed decides.",
        examples=["10s", "random"],
        json_schema_extra={"default": "0s"},
    )


class TracedRate(int):
    """The mean rate of a trace in bit/s, with the trace that the link follows."""

    replay: Replay

    def __new__(cls, replay: Replay) -> "TracedRate":
        if replay.trace.mean_bps < SLOWEST_LINK:
            text = f"{replay.trace.name} sends less than {SLOWEST_LINK} bit/s, too slow for a link"
            raise PartError([(("trace",), text)])
        rate = super().__new__(cls, replay.trace.mean_bps)
        rate.replay = replay
        return rate


def _rate(value: object, info: ValidationInfo) -> int:
    if not isinstance(value, dict):
        rate: int = read(LinkRate, value)
        return rate
    return TracedRate(read(Replay, value, info.context))


def _as_written(rate: int) -> Any:
    if isinstance(rate, TracedRate):
        return rate.replay.model_dump(mode="json", exclude_defaults=True)
    return units.format_rate(rate)


AnyRate = Annotated[
    int,
    PlainValidator(_rate, json_schema_input_type=LinkRate | Replay),
    PlainSerializer(_as_written),
]
"""A rate, or a trace that it follows."""


def of(rate: int | None) -> Trace | None:
    """The trace that a rate follows, if it does."""
    return rate.replay.trace if isinstance(rate, TracedRate) else None
