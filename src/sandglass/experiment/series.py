"""Series of the experiment file: what is read of the lines that a program says."""

import re
from typing import Annotated, Any

from pydantic import AfterValidator, Field, StrictStr, model_validator
from typing_extensions import Self

from sandglass.agent.series import TIME
from sandglass.experiment import units
from sandglass.experiment.part import Part
from sandglass.experiment.problems import PartError

LONGEST = 1000
"""Characters of a pattern."""


def _pattern(text: str) -> str:
    if len(text) > LONGEST:
        raise ValueError(f"has {len(text)} characters: write at most {LONGEST}")
    try:
        groups = re.compile(text).groupindex
    except (re.error, RecursionError, OverflowError) as error:
        raise ValueError(f"{units.shown(text)} is no regular expression: {error}") from None
    if not set(groups) - {TIME}:
        raise ValueError(
            f"{units.shown(text)} names no group with a number: write one, such as "
            r"cwnd=(?P<cwnd>\d+)"
        )
    return text


class Series(Part):
    """Numbers in what a program says: by a pattern, or by keys of JSON, in lines or of iperf3."""

    pattern: Annotated[StrictStr, AfterValidator(_pattern)] | None = Field(
        default=None,
        description="A regular expression of Python's, looked for in each line; each named group "
        "is a number. The group t is the line's time, in seconds from the flow's start; without "
        "it that is when the line was written.",
        examples=[r"cwnd=(?P<cwnd>\d+)"],
    )
    keys: Annotated[list[StrictStr], Field(min_length=1)] | None = Field(
        default=None,
        alias="json",
        description="Keys of the object that a line of JSON is, each of a number; a dot leads into "
        "an object within. The key t is the line's time, as with pattern.",
        examples=[["t", "cwnd", "rtt.smoothed"]],
    )

    iperf3: Annotated[list[StrictStr], Field(min_length=1)] | None = Field(
        default=None,
        description="Keys of the intervals that iperf3 --json tells: of the sum of its streams, or "
        "of each.",
        examples=[["bits_per_second", "retransmits", "snd_cwnd", "rtt"]],
    )

    @model_validator(mode="after")
    def _one_of_them(self) -> Self:
        if len(self.model_fields_set) != 1:
            text = r"write one of pattern, json and iperf3: {pattern: 'cwnd=(?P<cwnd>\d+)'}"
            raise PartError([((), text)])
        if self.keys is not None and not set(self.keys) - {TIME}:
            raise PartError([(("json",), "names no key with a number: write one beside t")])
        return self

    @property
    def planned(self) -> dict[str, Any]:
        """As it stands in the plan."""
        return self.model_dump(by_alias=True, exclude_none=True)
