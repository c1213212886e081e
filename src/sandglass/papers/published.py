"""Numbers that a source prints, each beside ours: the scatter with which a report opens."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import polars as pl
from plotnine import (
    aes,
    geom_abline,
    geom_point,
    ggplot,
    labs,
    scale_color_manual,
    scale_shape_manual,
    scale_x_log10,
    scale_y_log10,
)

from sandglass.errors import SandglassError
from sandglass.papers import ensemble
from sandglass.papers.rulings import Ruling
from sandglass.papers.shelf import Figure, Published
from sandglass.results import style

WIDTH = 0.2
"""Of the band: by so much ours may be above or below the source's."""
NOTHING = 1e-9
"""The share of the source's number up to which ours is nothing but rounding."""
COLUMNS = ("figure", "number", "unit", "theirs", "ours")
"""Of published.csv."""
INSIDE, OUTSIDE = "within a fifth", "further away"


class Pair(NamedTuple):
    """One number."""

    figure: str
    number: str
    """Which: the name of a claim, or what tells the rows of a table apart."""
    unit: str
    theirs: float
    ours: float

    @property
    def near(self) -> bool:
        """Whether ours is within the band."""
        return abs(self.ours - self.theirs) <= WIDTH * abs(self.theirs)


def of_claims(rulings: Iterable[Ruling]) -> Iterator[Pair]:
    """Those of which claims name the number."""
    for ruling in rulings:
        for each in ruling.numbers:
            theirs, ours = each.claim.number, each.verdict.measured
            if theirs is not None and ours is not None:
                yield Pair(each.verdict.figure, each.claim.id, each.claim.unit, theirs, ours)


def of_table(figure: str, table: pl.DataFrame, columns: Published) -> Iterator[Pair]:
    """Those that a figure's table has. Raises SandglassError for a column that it has not."""
    named = (*columns.by, columns.theirs, columns.ours)
    if missing := [name for name in named if name not in table.columns]:
        raise SandglassError(f"{figure}: published: the table has no column {missing[0]}")
    both = {columns.theirs: "theirs", columns.ours: "ours"}
    rows = table.drop_nulls(list(both)).rename(both)
    means = ensemble.means(rows, [*columns.by, "theirs"], "ours")
    for row in means.to_dicts():
        number = " ".join(str(row[name]) for name in columns.by if row[name] is not None)
        yield Pair(figure, number, columns.unit, row["theirs"], row["ours"])


def of_paper(
    rulings: Iterable[Ruling],
    figures: Mapping[str, Figure],
    table_of: Callable[[str], pl.DataFrame],
) -> list[Pair]:
    """All of a paper: those of its sentences, and those that its figures' tables have."""
    found = [*of_claims(rulings)]
    for name, figure in figures.items():
        if figure.published:
            found += of_table(name, table_of(name), figure.published)
    return found


def table(pairs: Sequence[Pair]) -> pl.DataFrame:
    """A row for each number, the columns COLUMNS."""
    types = dict.fromkeys(("theirs", "ours"), pl.Float64)
    schema = {name: types.get(name, pl.String) for name in COLUMNS}
    return pl.DataFrame(pairs, schema=schema, orient="row")


def near(pairs: Sequence[Pair]) -> int:
    """How many are within the band."""
    return sum(each.near for each in pairs)


def said(pairs: Sequence[Pair]) -> str:
    """What the scatter shows, in words."""
    return f"Ours is within a fifth of {near(pairs)} of the {len(pairs)} printed numbers"


def plot(pairs: Sequence[Pair]) -> ggplot | None:
    """The source's numbers against ours; None where there is none that a logarithm can show."""
    shown = [each for each in pairs if min(each.theirs, each.ours) > NOTHING * abs(each.theirs)]
    if not shown:
        return None
    rows = pl.DataFrame(
        {
            "theirs": [each.theirs for each in shown],
            "ours": [each.ours for each in shown],
            "where": [INSIDE if each.near else OUTSIDE for each in shown],
        },
        schema_overrides={"where": pl.Enum([INSIDE, OUTSIDE])},
    )
    left = len(pairs) - len(shown)
    note = f"\n{left} where either is zero or negative are not drawn." if left else ""
    made = (
        ggplot(rows, aes("theirs", "ours", color="where", shape="where"))
        + geom_abline(slope=1, intercept=0, color="#888888")
        + [
            geom_abline(slope=1, intercept=math.log10(end), linetype="dashed", color="#888888")
            for end in (1 - WIDTH, 1 + WIDTH)
        ]
        + geom_point(size=1.6, alpha=0.7)
        + scale_x_log10()
        + scale_y_log10()
        + scale_color_manual([style.PALETTE[0], style.PALETTE[1]])
        + scale_shape_manual([style.SHAPES[0], style.SHAPES[2]])
        + labs(x="what the source prints", y="what we measured", color="", shape="")
    )
    caption = (
        "Each in its own unit, on logarithms. The line: equal; dashed: a fifth above and below."
        + note
    )
    return style.finish(made, said(pairs), caption)
