"""Where in a picture a study's axes go: across, in colours, and in panels."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
from plotnine import scale_x_continuous

from sandglass.errors import SandglassError
from sandglass.experiment.document import Value
from sandglass.studies import quantity
from sandglass.studies.plot import Entry
from sandglass.studies.quantity import said, words

MOST_PANELS = 16
SLOT = 0.7
"""Of the room of a label on the horizontal axis, what its points take."""
ALL, SAME = "all", ""
KEYS = ("colour", "panel")
"""Columns that `labelled` adds."""


@dataclass(frozen=True)
class Results:
    """What the pictures are made of."""

    axes: Mapping[str, Sequence[Value]]
    """Their labels, as the tables have them."""
    runs: pl.DataFrame
    summary: pl.DataFrame
    home: Path
    """The study's directory, to which the runs' directories are relative."""
    units: Mapping[str, str]
    """Of the metrics; empty where it is not known."""
    origin: str = ""
    """Where all numbers come from, for the captions."""


@dataclass(frozen=True)
class Layout:
    """Which axes are told apart by colour and by panel."""

    colour: str | None
    panels: list[str]


def arranged(entry: Entry, results: Results, used: Sequence[str], coloured: bool = True) -> Layout:
    """The axes that the entry does not use vary in colour if it leaves that free, and in panels.

    No two points are put together. Raises SandglassError when there would be too many panels.
    """
    taken = [*used, *filter(None, [entry.facet])]
    colour = entry.colour if coloured else None
    taken = list(dict.fromkeys([*taken, colour] if colour else taken))
    free: list[str] = []
    for axis, labels in results.axes.items():
        if axis in (*taken, *free) or len(labels) < 2 or _follows(axis, [*taken, *free], results):
            continue
        free.append(axis)
    if coloured and colour is None and free:
        colour = free.pop(0)
    panels = [*filter(None, [entry.facet]), *free]
    count = results.runs.select(panels).unique().height if panels else 1
    if count > MOST_PANELS:
        raise SandglassError(
            f"a picture of {entry.title or ', '.join(used)} would have {count} panels, "
            f"one for each of {' and '.join(panels)}",
            "draw a heat map, or give the picture fewer axes",
        )
    return Layout(colour, panels)


def _follows(axis: str, others: Sequence[str], results: Results) -> bool:
    """Whether an axis goes in step with others."""
    if not others:
        return False
    both = results.runs.select(*others, axis).unique().height
    return both == results.runs.select(others).unique().height


def labelled(table: pl.DataFrame, layout: Layout, results: Results) -> pl.DataFrame:
    """With columns colour and panel, ordered as their axes are."""
    colour = pl.lit(ALL).cast(pl.Enum([ALL]))
    if layout.colour:
        colour = enum(layout.colour, results)
    parts = [
        pl.format(f"{words(axis)} {{}}", enum(axis, results).cast(pl.String))
        for axis in layout.panels
    ]
    panel = pl.concat_str(parts, separator=", ") if parts else pl.lit(SAME)
    found = table.with_columns(colour=colour, panel=panel)
    sizes = [enum(axis, results).to_physical() for axis in layout.panels]
    order = found.sort(sizes)["panel"].unique(maintain_order=True) if sizes else [SAME]
    return found.with_columns(pl.col("panel").cast(pl.Enum(order)))


def enum(axis: str, results: Results) -> pl.Expr:
    """An axis' labels, quantities in the order of their size."""
    names = {label: said(label) for label in quantity.ordered(results.axes[axis])}
    kind = pl.Enum(list(dict.fromkeys(names.values())))
    return pl.col(axis).replace_strict(names, return_dtype=pl.String).cast(kind)


def placed(table: pl.DataFrame, axis: str, results: Results, layout: Layout) -> pl.DataFrame:
    """On an axis of names: `middle` of a colour's slot, `beside` it, and the slot itself."""
    found = labelled(table, layout, results)
    slot = width(results, layout)
    colours = 1 if layout.colour in (None, axis) else len(found.schema["colour"].categories)  # type: ignore[attr-defined]
    turn = pl.lit(0) if colours == 1 else pl.col("colour").to_physical()
    middle = enum(axis, results).to_physical() + 1 + (turn - (colours - 1) / 2) * slot
    return found.with_columns(middle=middle, beside=middle + slot * 0.25).with_columns(
        slot=pl.format("{} {}", "middle", "panel")
    )


def width(results: Results, layout: Layout) -> float:
    """Of a slot."""
    return SLOT / max(2, len(results.axes[layout.colour]) if layout.colour else 1)


def names(axis: str, results: Results) -> Any:
    labels = [said(label) for label in quantity.ordered(results.axes[axis])]
    places = list(range(1, len(labels) + 1))
    return scale_x_continuous(
        breaks=places, labels=labels, limits=(0.5, len(labels) + 0.5), minor_breaks=[]
    )
