"""A bottleneck of the experiment file: its rates and queues, and how they change over time."""

import itertools
from collections.abc import Sequence
from typing import Annotated

from pydantic import AfterValidator, Field, model_validator
from typing_extensions import Self

from sandglass.experiment import units
from sandglass.experiment.part import Part
from sandglass.experiment.problems import PartError
from sandglass.experiment.queue import Queue
from sandglass.experiment.trace import AnyRate
from sandglass.experiment.values import LinkRate, Time

MOST_TIMES = 100_000
"""A change may be repeated."""


class Reverse(Part):
    """The direction from receivers to senders, where it differs from the forward direction."""

    rate: AnyRate | None = Field(
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

    rate: LinkRate = Field(description="The reverse rate from then on.", examples=["1mbit"])


class Timed(Part):
    """Something that changes while the experiment runs."""

    at: Time = Field(
        description="When, from the start of the experiment; before its end.", examples=["30s"]
    )


class Change(Timed):
    """A change of the path."""

    rate: LinkRate | None = Field(
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
    every: Time | None = Field(
        default=None,
        description="Repeats the change so often: `times` in all, the first one at `at`.",
        examples=["200ms"],
    )
    times: int | None = Field(
        default=None, ge=2, le=MOST_TIMES, description="With `every`: how many.", examples=[600]
    )

    @model_validator(mode="after")
    def _changes_something(self) -> Self:
        if self.rate is None and self.rtt is None and self.reverse is None:
            raise ValueError("changes nothing: give rate, rtt or reverse")
        if (self.every is None) != (self.times is None):
            raise ValueError("is repeated by every and times together: give both or neither")
        if self.every == 0:
            raise ValueError("is repeated every 0 s: write more")
        return self


def _repeated(schedule: list[Change]) -> list[Change]:
    """Each change by itself, in order of time where some are repeated."""
    if not any(change.every for change in schedule):
        return schedule
    alone = {"every": None, "times": None}
    found = [
        change.model_copy(update={**alone, "at": change.at + number * (change.every or 0)})
        for change in schedule
        for number in range(change.times or 1)
    ]
    return sorted(found, key=lambda change: change.at)


Schedule = Annotated[list[Change], AfterValidator(_repeated)]


def check_schedule(schedule: Sequence[Timed]) -> None:
    """Raise PartError unless the changes are in order of time."""
    for index, (before, change) in enumerate(itertools.pairwise(schedule), start=1):
        if change.at <= before.at:
            text = f"{units.format_time(change.at)} is not after {units.format_time(before.at)}"
            raise PartError(
                [(("schedule", index, "at"), f"{text}: put the changes in order, one for a time")]
            )


class BottleneckOverride(Part):
    """What one bottleneck of a topology with several has of its own; the rest is as for all."""

    rate: AnyRate | None = Field(default=None, description="Rate of the link.", examples=["10mbit"])
    queue: Queue | None = Field(
        default=None, description="The queue before the link.", examples=[{"kind": "pie"}]
    )
    reverse: Reverse | None = Field(
        default=None, description="The reverse direction.", examples=[{"rate": "1mbit"}]
    )
    schedule: Schedule | None = Field(
        default=None,
        description="Changes of the rate over time, in order; replaces the schedule for all.",
        examples=[[{"at": "30s", "rate": "5mbit"}]],
    )

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        check_schedule(self.schedule or [])
        return self


class Bottleneck(Part):
    """A slow link between two routers, with its queue on the router before it."""

    rate: AnyRate = Field(
        description="Rate of the link; counts bytes on the wire, Ethernet header included. Or a "
        "trace that it follows.",
        examples=["20mbit", {"trace": "cellular"}],
    )
    queue: Queue = Field(
        description="The queue before the link.", examples=[{"kind": "codel", "limit": 1000}]
    )
    reverse: Reverse = Field(
        default_factory=Reverse,
        description="The reverse direction. Default: as forward.",
        examples=[{"rate": "1mbit"}],
    )
    schedule: Schedule = Field(
        default_factory=list,
        description="Changes of rate or round trip over time, in order.",
        examples=[[{"at": "30s", "rate": "5mbit"}, {"at": "60s", "rtt": "200ms"}]],
    )

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        check_schedule(self.schedule)
        return self

    @property
    def reverse_rate(self) -> int:
        """In bit/s: as forward unless the file says otherwise."""
        return self.rate if self.reverse.rate is None else self.reverse.rate

    @property
    def rates(self) -> list[int]:
        """Of both directions at the start, in bit/s."""
        return [self.rate, self.reverse_rate]

    def overridden(self, override: BottleneckOverride | None) -> "Bottleneck":
        """This bottleneck with the keys that `override` gives in place of its own."""
        if override is None:
            return self
        given = {key: getattr(override, key) for key in override.model_fields_set}
        return self.model_copy(update=given)
