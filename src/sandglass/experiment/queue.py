"""A queue of the experiment file: a qdisc of tc with its options."""

from typing import Any

from pydantic import ConfigDict, Field, model_validator
from typing_extensions import Self

from sandglass.experiment import qdiscs, units
from sandglass.experiment.part import Part
from sandglass.experiment.problems import PartError, Problem
from sandglass.experiment.values import Kind, Length


def _options_of_each_kind(schema: dict[str, Any]) -> None:
    word = {"type": ["string", "number", "boolean"]}
    schema["additionalProperties"] = {"anyOf": [word, {"type": "array", "items": word}]}
    schema["allOf"] = [
        {
            "if": {"properties": {"kind": {"const": kind}}, "required": ["kind"]},
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
