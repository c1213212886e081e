"""Sizes of the experiment file: of flows and of objects, given or drawn by the seed."""

from typing import Annotated, Any

from pydantic import Field, PlainSerializer, PlainValidator, StrictInt, model_validator
from typing_extensions import Self

from sandglass.agent import plan
from sandglass.experiment import units
from sandglass.experiment.part import Part, read
from sandglass.experiment.problems import PartError
from sandglass.experiment.values import Size


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
    return read(RandomSize if isinstance(value, dict) else Size, value)


def _one_or_more(value: object) -> Any:
    return read(SizeList if isinstance(value, list) else AnySize, value)


def _sizes_as_written(sizes: int | list[int] | Part) -> Any:
    match sizes:
        case int():
            return units.format_size(sizes)
        case list():
            return [units.format_size(each) for each in sizes]
    return sizes.model_dump(mode="json")


def planned(size: int | RandomSize) -> plan.Size:
    """A size as it stands in the plan: bytes, or the distribution to draw them from."""
    if isinstance(size, RandomSize):
        drawn_from = size.lognormal
        return {
            "lognormal": {
                "median": drawn_from.median,
                "sigma": drawn_from.sigma,
                "least": drawn_from.least,
                "most": drawn_from.most,
            }
        }
    return size


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
    return read(ObjectSizes if isinstance(value, dict) else SizeList, value)


Objects = Annotated[
    list[int] | ObjectSizes,
    PlainValidator(_list_or_alike, json_schema_input_type=SizeList | ObjectSizes),
    PlainSerializer(_sizes_as_written),
]


def planned_each(objects: list[int] | ObjectSizes) -> list[plan.Size]:
    """The size of each object, as it stands in the plan."""
    each = objects.each if isinstance(objects, ObjectSizes) else objects
    return [planned(size) for size in each]
