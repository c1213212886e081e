"""Metrics that a figure's file says: numbers of its table, in the words of Polars' SQL.

    longest: {of: MAX(delay_ms), where: rtt_ms > {above}}
    least_share: {least: goodput / rate, over: [queue, rtt_ms], where: beta > 0.5}
    slowed: {of: AVG(fct_s), ratio: {beta: ["{beta}", 0.5]}}

A claim's arguments fill the {names}: a value in conditions and labels, a column in what is
measured. Each other argument is a column, whose value, or one of a list of values, rows must have.
"""

import math
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field, model_validator

from sandglass.errors import SandglassError
from sandglass.experiment.document import Value
from sandglass.experiment.part import Part

if TYPE_CHECKING:
    import polars as pl

    from sandglass.papers.verdicts import Found

NAME = re.compile(r"\{(\w+)\}")
KINDS = ("of", "least", "largest", "farthest", "mean", "median", "trend")
Two = Annotated[list[Value], Field(min_length=2, max_length=2)]
Pair = Annotated[dict[str, Two], Field(min_length=1, max_length=1)]


class Metric(Part):
    """What is measured of which rows. Without a row there is nothing."""

    of: str = ""
    """One number of all rows, such as MEDIAN(share), or what one row has."""
    least: str = ""
    """The least over points, of their means over replicas (verdicts.least)."""
    largest: str = ""
    farthest: str = ""
    """The largest distance from 0, either way."""
    mean: str = ""
    """The mean over points."""
    median: str = ""
    trend: str = ""
    """Spearman's correlation of it with the column that `over` names."""
    over: list[str] = Field(default_factory=list)
    """The columns that tell points apart: what is measured is of the rows of each."""
    where: str = ""
    """Which rows, of those that the arguments leave."""
    arguments: dict[str, Value] = Field(default_factory=dict)
    """Those of claims that do not say them."""
    ratio: Pair | None = None
    """A column and two labels: what rows of the first have over what those of the second have."""
    difference: Pair | None = None
    """The first's less the second's."""

    @model_validator(mode="after")
    def _one_kind(self) -> "Metric":
        given = [key for key in KINDS if getattr(self, key)]
        if len(given) != 1:
            raise ValueError(f"needs one of {', '.join(KINDS)}")
        if bool(self.over) != (given != ["of"]):
            raise ValueError(f"{given[0]} needs {'no' if self.over else 'columns'} `over`")
        if self.ratio and self.difference:
            raise ValueError("has a ratio and a difference: make two metrics of them")
        return self

    @property
    def _kind(self) -> str:
        return next(key for key in KINDS if getattr(self, key))

    def value(self, table: "pl.DataFrame", arguments: Mapping[str, Any]) -> "Found":
        """Its number, of a figure's table. Raises SandglassError where it has none to say."""
        import polars as pl  # noqa: PLC0415 a shelf of papers is listed without

        try:
            return self._value(table, arguments)
        except (ValueError, pl.exceptions.PolarsError) as error:
            raise SandglassError(str(error).splitlines()[0]) from None

    def _value(self, table: "pl.DataFrame", arguments: Mapping[str, Any]) -> "Found":
        import polars as pl  # noqa: PLC0415

        from sandglass.studies import sql  # noqa: PLC0415

        arguments = self.arguments | dict(arguments)
        measured = getattr(self, self._kind)
        pair = self.ratio or self.difference or {}
        filled = [
            measured,
            self.where,
            *self.over,
            *map(str, [each for two in pair.values() for each in two]),
        ]
        named = {name for text in filled for name in NAME.findall(text)}
        if missing := named - arguments.keys():
            raise SandglassError(f"says nothing of {', '.join(sorted(missing))}")
        rows = table
        for column, value in arguments.items():
            if column not in named:
                chosen = value if isinstance(value, list) else [value]
                rows = rows.filter(pl.any_horizontal(pl.col(column) == each for each in chosen))
        if self.where:
            rows = rows.filter(sql.expression(_filled(self.where, arguments, "'")))
        sides = [rows]
        for column, labels in pair.items():
            own = (arguments[m[1]] if (m := NAME.fullmatch(str(each))) else each for each in labels)
            sides = [rows.filter(pl.col(column) == each) for each in own]
        found = sql.expression(_filled(measured, arguments, '"')).alias("value")
        if self._kind == "of":
            return self._one(sides, found)
        return self._points(sides, found, [_filled(each, arguments, "") for each in self.over])

    def _one(self, sides: "list[pl.DataFrame]", found: "pl.Expr") -> "Found":
        values = []
        for side in sides:
            own = side.select(found)["value"].to_list() if side.height else [None]
            if len(own) != 1:
                raise SandglassError("has several rows: write MAX(…), AVG(…) or such")
            if own[0] is None or not math.isfinite(own[0]):
                return None
            values.append(float(own[0]))
        if len(values) == 1:
            return values[0]
        one, other = values
        if self.difference:
            return one - other
        return one / other if other else None

    def _points(self, sides: "list[pl.DataFrame]", found: "pl.Expr", over: list[str]) -> "Found":
        import polars as pl  # noqa: PLC0415

        from sandglass.papers import verdicts  # noqa: PLC0415

        each = []
        for side in sides:
            points = side.group_by(over, maintain_order=True).agg(found)
            each.append(points.explode("value") if points["value"].dtype == pl.List else points)
        points = each[0]
        if len(each) == 2:
            one, other = pl.col("value"), pl.col("value_other")
            both = points.join(each[1], on=over, suffix="_other", maintain_order="left")
            value = one - other if self.difference else one / other
            points = both.select(*over, value=value)
        if self._kind == "trend":
            ranks = points.select(pl.corr(over[0], "value", method="spearman"))
            return verdicts.scalar(ranks.item())
        if self._kind in ("mean", "median"):
            return verdicts.scalar(getattr(points["value"], self._kind)())
        extreme: Found = getattr(verdicts, self._kind)(points, "value")
        return extreme


def _filled(text: str, arguments: Mapping[str, Any], quote: str) -> str:
    """A text of SQL with arguments in it."""

    def word(value: object) -> str:
        if isinstance(value, list):
            return ", ".join(map(word, value))
        if not isinstance(value, str):
            return str(value)
        return quote + value.replace(quote, 2 * quote) + quote

    return NAME.sub(lambda found: word(arguments[found[1]]), text)
