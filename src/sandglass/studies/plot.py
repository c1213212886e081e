"""The entries of a study's `plots`: what is drawn, against what, in which colours and panels."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal, get_args

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from sandglass.errors import nearest
from sandglass.experiment import units
from sandglass.experiment.document import Value
from sandglass.experiment.part import Part, read
from sandglass.experiment.problems import PartError, Problem
from sandglass.experiment.values import Time
from sandglass.studies import sql
from sandglass.studies.claims import unknown
from sandglass.studies.points import text

FLOW = "flow"
"""What `colour` may be in a series besides an axis: a colour for each flow."""
Series = Literal["queue_delay", "rate", "cwnd"]
Distribution = Literal["queue_delay", "goodput", "fct"]


class Entry(Part):
    """What all entries may say."""

    colour: str | None = None
    """An axis; its labels are told apart by colour and shape."""
    facet: str | None = None
    """An axis; a panel for each of its labels."""
    title: str = ""
    labels: dict[str, str] = Field(default_factory=dict)
    """What axes and metrics are called in this picture: {delay: "Queueing delay, p95 (ms)"}."""

    @property
    def places(self) -> list[str]:
        """The axes by which its points lie across and up, and not in colours or panels."""
        return []

    def _places(self, *names: str) -> list[str]:
        return [name for name in names if name not in (self.colour, self.facet)]

    def coloured(self, axes: Collection[str]) -> bool:
        """Whether an axis may be told apart by colour."""
        return True

    def names(self) -> Iterator[tuple[str, Literal["axis", "metric"], str]]:
        """The keys that name an axis or a metric of the study, and what they name."""
        for key in ("colour", "facet"):
            if (name := getattr(self, key)) is not None:
                yield key, "axis", name

    def wrong(
        self, axes: Mapping[str, Sequence[Value]], metrics: Sequence[str] | None
    ) -> Iterator[Problem]:
        """What it names that a study does not have; metrics are None where a module has some."""
        for key, kind, name in self.names():
            if kind == "axis" and name not in axes:
                yield (key,), unknown("axis", name, axes)
            if kind == "metric" and metrics is not None and name not in metrics:
                yield (key,), unknown("metric", name, metrics)
        used = [name for _, _, name in self.names()]
        for name in self.labels:
            if name not in used:
                yield ("labels", name), f"is not in this picture, which has {', '.join(used)}"


class Against(Entry):
    """What is drawn over an axis."""

    x: str
    log: Literal["x", "y", "both"] | None = None
    """Which axes are logarithmic."""

    @property
    def places(self) -> list[str]:
        return self._places(self.x)

    def names(self) -> Iterator[tuple[str, Literal["axis", "metric"], str]]:
        yield "x", "axis", self.x
        yield from super().names()


class Points(Against):
    """Means with their intervals and every replica; joined where x is a quantity."""

    y: str

    def names(self) -> Iterator[tuple[str, Literal["axis", "metric"], str]]:
        yield "y", "metric", self.y
        yield from super().names()


class Box(Against):
    """Quartiles of the replicas, with every replica."""

    box: str

    def names(self) -> Iterator[tuple[str, Literal["axis", "metric"], str]]:
        yield "box", "metric", self.box
        yield from super().names()


def _one(labels: dict[str, Value]) -> dict[str, Value]:
    if len(labels) != 1:
        raise ValueError("is not one label of one axis: write {queue: CoDel}")
    return labels


class Differences(Against):
    """By how much, or how many times, a metric is more than at one label, by pairs of replicas."""

    difference: str | None = None
    ratio: str | None = None
    against: Annotated[dict[str, Value], AfterValidator(_one)] = Field(
        examples=[{"queue": "CoDel"}]
    )

    @model_validator(mode="after")
    def _either(self) -> "Differences":
        if self.difference and self.ratio:
            raise ValueError("difference and ratio stand together: make two pictures of them")
        return self

    def names(self) -> Iterator[tuple[str, Literal["axis", "metric"], str]]:
        key = "difference" if self.difference else "ratio"
        yield key, "metric", str(self.difference or self.ratio)
        yield from super().names()

    def wrong(
        self, axes: Mapping[str, Sequence[Value]], metrics: Sequence[str] | None
    ) -> Iterator[Problem]:
        yield from super().wrong(axes, metrics)
        ((axis, label),) = self.against.items()
        if axis not in axes:
            yield ("against", axis), unknown("axis", axis, axes)
        elif text(label) not in (known := [text(each) for each in axes[axis]]):
            yield ("against", axis), unknown(axis, text(label), known)
        elif len(known) < 2:
            yield ("against", axis), f"{axis} has no other label to compare"


class Heat(Entry):
    """A metric's mean as a colour over two axes."""

    heat: str
    x: str
    y: str

    @property
    def places(self) -> list[str]:
        return self._places(self.x, self.y)

    def coloured(self, axes: Collection[str]) -> bool:
        return False

    def names(self) -> Iterator[tuple[str, Literal["axis", "metric"], str]]:
        yield from (("heat", "metric", self.heat), ("x", "axis", self.x), ("y", "axis", self.y))
        yield from super().names()

    @model_validator(mode="after")
    def _has_its_colour(self) -> "Heat":
        if self.colour is not None:
            raise ValueError("a heat map has no colour: it shows its metric by it")
        return self


def _two(names: list[str]) -> list[str]:
    if len(names) != 2:
        raise ValueError("is not of two metrics: write [delay, goodput]")
    return names


class Ellipse(Entry):
    """Two metrics of each replica, with the ellipse of one sigma about their mean (RFC 7928, 2.7).

    Its covariance is that of maximum likelihood: divided by n.
    """

    ellipse: Annotated[list[str], AfterValidator(_two)]
    """The metrics of the horizontal and of the vertical axis."""
    reversed: bool = False
    """Whether the horizontal axis is: better is then up and to the right."""

    def names(self) -> Iterator[tuple[str, Literal["axis", "metric"], str]]:
        yield from (("ellipse", "metric", name) for name in self.ellipse)
        yield from super().names()


class Rows(Part):
    """A number of each row of one of the runs' tables, in the words of Polars' SQL."""

    table: str
    of: str = Field(examples=["rtt_ns / 1e6"])
    where: str | None = None

    @model_validator(mode="after")
    def _is_sql(self) -> "Rows":
        for key in ("of", "where"):
            try:
                sql.expression(getattr(self, key) or "1")
            except ValueError as error:
                raise PartError([((key,), str(error))]) from None
        return self


def _distribution(value: object) -> object:
    if isinstance(value, dict):
        return read(Rows, value)
    known = get_args(Distribution)
    if value not in known:
        raise ValueError(
            f"{units.shown(value)} is nothing to draw: write one of {', '.join(known)}, or "
            "{table: rtt, of: rtt_ns / 1e6}"
        )
    return value


class Cdf(Entry):
    """How what the runs recorded is distributed: all replicas as one, and the band of them."""

    cdf: Annotated[Distribution | Rows, BeforeValidator(_distribution)]
    log: Literal["x"] | None = None
    """Whether what is distributed has a logarithmic axis."""
    start: Time = Field(default=0, alias="from")
    """What arrived, was acknowledged, or began before it does not count."""

    @model_validator(mode="after")
    def _has_a_time(self) -> "Cdf":
        if self.start and isinstance(self.cdf, Rows):
            raise PartError([(("from",), "is not of a table: write a `where`")])
        return self


class TimeSeries(Entry):
    """What the runs recorded over time: the replicas' median, and the band of them."""

    series: Series

    def by_flow(self, axes: Collection[str]) -> bool:
        """Whether each flow has a colour."""
        return self.colour == FLOW and FLOW not in axes

    def coloured(self, axes: Collection[str]) -> bool:
        return not self.by_flow(axes)

    def wrong(
        self, axes: Mapping[str, Sequence[Value]], metrics: Sequence[str] | None
    ) -> Iterator[Problem]:
        flows = {FLOW: [FLOW]} if self.by_flow(axes) else {}
        yield from super().wrong({**axes, **flows}, metrics)
        if flows and self.series == "queue_delay":
            yield ("colour",), "a queue's delay is that of all flows: name an axis"


KINDS: Mapping[str, type[Entry]] = {
    "ellipse": Ellipse,
    "heat": Heat,
    "box": Box,
    "cdf": Cdf,
    "series": TimeSeries,
    "difference": Differences,
    "ratio": Differences,
    "y": Points,
}
"""The key by which a kind of picture is told from the others."""


def _kind(value: Any) -> Any:
    if not isinstance(value, dict):
        raise ValueError(f"{units.shown(value)} is not a picture: write {{x: AXIS, y: METRIC}}")
    kinds = [model for key, model in KINDS.items() if key in value]
    if not kinds:
        near = [nearest(str(key), KINDS) for key in value]
        said = next((text for text in near if text != "."), "")
        raise ValueError(
            f"no kind of picture{said or '.'} Write {{x: AXIS, y: METRIC}}, or one of "
            f"{', '.join(key for key in KINDS if key != 'y')}"
        )
    return read(kinds[0], value)


Plot = Annotated[Entry, BeforeValidator(_kind)]
"""Any entry of `plots`; its keys say which kind it is."""
