"""Noise of the experiment file: what a testbed adds to the times of packets."""

import bisect
import contextlib
import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import NormalDist
from typing import Annotated, Any, Literal

from pydantic import Field, PlainSerializer, PlainValidator, ValidationInfo, model_validator

from sandglass.experiment import units
from sandglass.experiment.part import Part
from sandglass.experiment.problems import PartError
from sandglass.experiment.trace import BESIDE, copy_of
from sandglass.experiment.values import Duration, Time, time_or

QUANTILES = 1024
"""Between 0 and 1, at equal distances."""
TESTBED = "testbed"
PACKET = "packet"
TAIL = "tail"
WAN_STEPS = 20
"""Times the mean that a step of the long path takes at least; see kmods/sch_noise/noise.h."""
MOST_NS = {"phase": 10**9, "host": 10**9, "nic": 10**9, "wan": 50_000_000, "wan_step": 2 * 10**9}
"""What the qdisc takes: kmods/sch_noise/uapi.h."""
BUSY_SHARE = 0.001


@dataclass(frozen=True)
class WakeUp:
    """The times in which a host wakes up and sends."""

    written: str
    """As in the experiment."""
    quantiles: list[int]
    """In ns, at equal distances from 0 to 1."""
    text: str = ""
    """That of the user's file, where they are from one."""

    @property
    def copy(self) -> str | None:
        """What a run calls its copy of that file."""
        return copy_of(self.written) if self.text else None


def wake_up(value: object, beside: Path) -> WakeUp:
    """A time that they are uniform up to, `tail`, or a histogram's file.

    Raises ValueError, with what to write instead.
    """
    if value == TAIL:
        return WakeUp(TAIL, inverted(tailed, 0, 100_000))
    with contextlib.suppress(OSError):  # such as a name that is too long for one
        if isinstance(value, str) and (beside / value).is_file():
            try:
                text = (beside / value).read_text()
            except UnicodeDecodeError:
                raise ValueError(f"{value} is no text") from None
            return WakeUp(value, of_histogram(text, value), text)
    try:
        most = units.parse_time(value)
    except ValueError as error:
        if isinstance(value, str) and re.search(r"[./]", value) and not value[:1].isdigit():
            raise ValueError(f"there is no file {units.shown(value)}") from None
        raise ValueError(f"{error}; or tail, or the file of a histogram") from None
    if most > MOST_NS["host"]:
        raise ValueError(f"{units.shown(value)} is too long: write at most 1s")
    return WakeUp(units.format_time(most), [0, most] if most else [])


def tailed(ns: float) -> float:
    """The share of a host's wake-ups that take no longer, where a few take long.

    999 of 1000 are lognormal with a median of 3 us (sigma 0.6), one is uniform from 10 to 100 us:
    of the order of what cyclictest finds on idle machines.
    """
    usual = NormalDist().cdf(math.log(ns / 3000) / 0.6) if ns > 0 else 0.0
    busy = min(max((ns - 10_000) / 90_000, 0.0), 1.0)
    return (1 - BUSY_SHARE) * usual + BUSY_SHARE * busy


def inverted(share: Callable[[float], float], least: int, most: int) -> list[int]:
    """The quantiles of a distribution that ends at `most`, by halving."""
    found = [least]
    for number in range(1, QUANTILES):
        low, high = found[-1], most
        while low < high:
            middle = (low + high) // 2
            if share(middle) < number / QUANTILES:
                low = middle + 1
            else:
                high = middle
        found.append(low)
    return [*found, most]


def of_histogram(text: str, name: str) -> list[int]:
    """The quantiles of a histogram as cyclictest prints it: us and how often, a line each.

    Further columns are those of further processors, and count too; lines with # are none of it.
    Raises ValueError.
    """
    counts: dict[int, int] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        words = line.partition("#")[0].split()
        if not words:
            continue
        if len(words) < 2 or not all(word.isascii() and word.isdigit() for word in words):
            raise ValueError(f"{name}, line {number}: write a time in us and how often it was")
        counts[int(words[0])] = counts.get(int(words[0]), 0) + sum(map(int, words[1:]))
    total = sum(counts.values())
    if not total:
        raise ValueError(
            f"{name} has no times: write a time in us and how often it was, a line each"
        )
    times = sorted(us for us, count in counts.items() if count)
    if (times[-1] + 1) * 1000 > MOST_NS["host"]:
        raise ValueError(f"{name} has a time of {times[-1]} us: at most 1 s is possible")
    reached, sums = 0, []
    for us in times:
        reached += counts[us]
        sums.append(reached)
    # A time of n us is one from n to n + 1.
    edges = [0, *sums]

    def at(share: float) -> int:
        wanted = share * total
        index = min(bisect.bisect_left(sums, wanted), len(times) - 1)
        within = (wanted - edges[index]) / (edges[index + 1] - edges[index])
        return round((times[index] + within) * 1000)

    return [at(number / QUANTILES) for number in range(QUANTILES + 1)]


def _wake_up(value: object, info: ValidationInfo) -> WakeUp:
    return wake_up(value, (info.context or {}).get(BESIDE, Path()))


AnyWakeUp = Annotated[
    WakeUp,
    PlainValidator(_wake_up, json_schema_input_type=str),
    PlainSerializer(lambda given: given.written, return_type=str),
]
NOTHING = WakeUp("0s", [])
OFF: Any = {"default": "0s"}


class Noise(Part):
    """What a testbed adds to the times of packets. It never changes their order."""

    phase: time_or(PACKET) = Field(  # type: ignore[valid-type]
        default=0,
        description="Before each packet its sender waits a random time, uniform up to this; "
        "packet: up to what a full packet takes on the slowest link, forward. It takes away phase "
        "effects.",
        examples=[PACKET, "1.2ms"],
        json_schema_extra=OFF,
    )
    host: AnyWakeUp = Field(
        default=NOTHING,
        description="The time that a host takes to wake up and send, uniform up to this; or tail, "
        "with some that take 100 us; or the file of a histogram, as of cyclictest.",
        examples=["10us", TAIL],
        json_schema_extra=OFF,
    )
    nic: Time = Field(
        default=0,
        description="Hosts' network cards hand packets up in one interrupt after so long a time "
        "at the earliest.",
        examples=["50us"],
        json_schema_extra=OFF,
    )
    wan: Time = Field(
        default=0,
        description="Mean of the delay that a long path adds each way, exponential.",
        examples=["200us"],
        json_schema_extra=OFF,
    )
    wan_step: Duration = Field(
        default=10_000_000,
        description="From one draw of that delay to the next; between them it is linear. At least "
        "20 times `wan`, at most 2 s.",
        examples=["10ms"],
        json_schema_extra={"default": "10ms"},
    )

    @property
    def is_silent(self) -> bool:
        """Whether it adds nothing."""
        return not (self.phase or self.host.quantiles or self.nic or self.wan)

    @model_validator(mode="after")
    def _keeps_the_order(self) -> "Noise":
        for name, most in MOST_NS.items():
            value = getattr(self, name)
            if isinstance(value, int) and value > most:
                text = f"{units.format_time(value)} is too long: write at most"
                raise PartError([((name,), f"{text} {units.format_time(most)}")])
        if self.wan_step < WAN_STEPS * self.wan:
            least = units.format_time(WAN_STEPS * self.wan)
            text = f"{units.format_time(self.wan_step)} is too short for that wan: packets would"
            raise PartError([(("wan_step",), f"{text} overtake each other; write {least} or more")])
        return self


def _noise(value: object, info: ValidationInfo) -> Any:
    if value == TESTBED:
        value = {"phase": PACKET, "host": "10us", "nic": "50us", "wan": "200us"}
    elif not isinstance(value, dict | Noise):
        raise ValueError(
            f"{units.shown(value)} is no noise: write testbed, or some of phase, host, nic, wan"
        )
    return Noise.model_validate(value, context=info.context)


AnyNoise = Annotated[
    Noise,
    PlainValidator(_noise, json_schema_input_type=Literal["testbed"] | Noise),
    PlainSerializer(lambda noise: noise.model_dump(mode="json", exclude_none=True)),
]
"""The usual mixture by its name, or what it has."""
