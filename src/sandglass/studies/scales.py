"""The scales of axes that are quantities: where ticks stand, and what a logarithm shows."""

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import polars as pl
from plotnine import scale_x_continuous, scale_x_log10, scale_y_log10

from sandglass.errors import SandglassError
from sandglass.experiment.document import Value

MOST_TICKS = 8
"""At the values themselves; of more the ticks are round numbers."""
NEAREST = 1 / 16
"""Of a picture's width, the least that two ticks' labels need between them."""
MARGIN = 0.05
"""Of an axis, what a panel has beyond what is drawn in it."""


def across(numbers: Mapping[Value, float], logarithmic: bool, columns: int) -> Any:
    """The horizontal scale of panels that stand in so many columns.

    The ticks are at the values themselves where these are few.
    """
    values = sorted(numbers.values())
    if logarithmic and values[0] <= 0:
        raise SandglassError("a logarithmic axis has no 0")
    make = scale_x_log10 if logarithmic else scale_x_continuous
    places = _places(values, logarithmic)
    room = (places[-1] - places[0]) * NEAREST * columns
    if len(values) > MOST_TICKS or any(b - a < room for a, b in itertools.pairwise(places)):
        return make()
    return make(breaks=values, labels=_numbers)


def span(numbers: Mapping[Value, float], logarithmic: bool) -> float:
    """From the least value to the largest, as the scale measures it: in decades, or in its unit."""
    places = _places(sorted(numbers.values()), logarithmic)
    return places[-1] - places[0]


def _places(values: Sequence[float], logarithmic: bool) -> list[float]:
    return [math.log10(value) for value in values] if logarithmic else list(values)


def _numbers(values: Sequence[Any]) -> list[str]:
    return [f"{value:g}" for value in values]


class Above(NamedTuple):
    """What a logarithmic vertical scale shows of means and replicas."""

    means: pl.DataFrame
    dots: pl.DataFrame
    scale: Any
    missing: str
    """What is said of the rest."""


def above_0(means: pl.DataFrame, dots: pl.DataFrame) -> Above:
    """A logarithmic scale of `means` (columns y, low, high) and of `dots` (column y).

    An interval that reaches 0 or below ends at the panel's edge; a mean or a replica there is left
    out. Raises SandglassError when no mean is above 0.
    """
    kept, seen = (table.filter(pl.col("y") > 0) for table in (means, dots))
    if kept.is_empty():
        raise SandglassError(
            "no mean is above 0: a logarithmic axis has none to show", "leave out log"
        )
    ends = pl.concat([kept["y"], kept["low"], kept["high"], seen["y"]]).drop_nulls()
    least, most = (float(end) for end in (ends.filter(ends > 0).min(), ends.max()))  # type: ignore[arg-type]
    scale, said = scale_y_log10(), []
    if (kept["low"] <= 0).any():
        edge = pl.lit(least * (least / most) ** MARGIN)
        kept = kept.with_columns(
            low=pl.when(pl.col("low") <= 0).then(edge).otherwise(pl.col("low"))
        )
        scale = scale_y_log10(expand=(0, 0, MARGIN, 0))
        said.append("An interval that reaches 0 or below ends at the panel's edge.")
    lost = {"mean": means.height - kept.height, "dot": dots.height - seen.height}
    if missing := [_many(number, noun) for noun, number in lost.items() if number]:
        said.append(f"Not above 0, and so not on a logarithmic axis: {' and '.join(missing)}.")
    return Above(kept, seen, scale, " ".join(said))


def _many(number: int, noun: str) -> str:
    return f"{number} {noun}{'s' if number > 1 else ''}"
