"""The house style of all figures, saved so that the same input gives the same bytes."""

import copy
import io
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import matplotlib as mpl
import pandas as pd
import polars as pl
from plotnine import (
    element_blank,
    element_line,
    element_rect,
    element_text,
    ggplot,
    labs,
    theme,
    theme_bw,
)

from sandglass.results import palette
from sandglass.results.export.whole import whole_file

PALETTE = palette.PALETTE
SHAPES = ("o", "s", "^", "D", "v", "P", "X", "*")
LINES = ("solid", "dashed", "dashdot", "dotted")

WIDTH_IN = 7.2
HEIGHT_IN = 4.2
DPI = 160

# Text as outlines in matplotlib's own font: nothing depends on the fonts of the machine.
FONT = "DejaVu Sans"
# What a file calls things is shown as it is written: a $ in it begins no formula.
RC: Any = {
    "svg.hashsalt": "sandglass",
    "svg.fonttype": "path",
    "font.family": FONT,
    "text.parse_math": False,
}


def house() -> theme:
    """White ground, light grid, legend on top, small caption."""
    return theme_bw(base_size=10, base_family=FONT) + theme(
        figure_size=(WIDTH_IN, HEIGHT_IN),
        dpi=DPI,
        panel_grid_minor=element_blank(),
        panel_grid_major=element_line(color="#DDDDDD", size=0.4),
        strip_background=element_rect(fill="#EEEEEE", color="#888888"),
        legend_position="top",
        legend_title=element_text(size=9),
        plot_title=element_text(size=11, ha="left"),
        plot_caption=element_text(size=7, ha="left", color="#444444"),
    )


def finish(plot: ggplot, title: str, text: str) -> ggplot:
    """The plot in the house style, with its title and caption."""
    return plot + labs(title=title, caption=text) + house()


def in_order(labels: Iterable[str]) -> pl.Enum:
    """The labels of a legend as a column's type, by the alphabet, and the numbers in them by size:
    'RTT 3 ms' is before 'RTT 10 ms'."""
    return pl.Enum(sorted(set(labels), key=_words_and_numbers))


def _words_and_numbers(label: str) -> list[tuple[str, float]]:
    found = re.findall(r"([^\d]*)(\d*\.?\d*)", label)
    return [(word, float(number) if number.strip(".") else 0.0) for word, number in found]


def stem(out: Path) -> Path:
    """Where a figure goes, without the ending of the picture that the user may have named."""
    return out.with_suffix("") if out.suffix in (".svg", ".png", ".csv") else out


def save(plot: ggplot, stem: Path) -> None:
    """Write `stem`.svg and `stem`.png: no dates and no random ids, so equal input, equal bytes.

    Both are drawn before either is written: an error leaves no half figure.
    """
    pictures = {suffix: drawn(plot, suffix) for suffix in ("svg", "png")}
    for suffix, content in pictures.items():
        with whole_file(stem.with_name(f"{stem.name}.{suffix}")) as file:
            file.write(content)


def _with_pandas(plot: ggplot) -> ggplot:
    """The plot with Polars' tables in it made pandas', as plotnine itself would by PyArrow."""
    plot = copy.deepcopy(plot)
    if isinstance(plot.data, pl.DataFrame):
        plot.data = pandas_of(plot.data)
    for layer in plot.layers:
        if isinstance(layer._data, pl.DataFrame):
            layer._data = pandas_of(layer._data)
    return plot


def pandas_of(table: pl.DataFrame) -> pd.DataFrame:
    """A table of numbers, strings and enumerations as pandas has it; the latter are in order."""
    columns: dict[str, Any] = {}
    for column in table:
        columns[column.name] = column.to_numpy()
        if isinstance(column.dtype, pl.Enum):
            kinds = list(column.dtype.categories)
            columns[column.name] = pd.Categorical(columns[column.name], kinds, ordered=True)
    return pd.DataFrame(columns)


def drawn(plot: ggplot, suffix: str) -> bytes:
    """A picture, as `svg` or `png`."""
    plot = _with_pandas(plot)
    buffer = io.BytesIO()
    metadata = {"svg": {"Date": None}, "png": {"Software": None}}
    with mpl.rc_context(RC):
        plot.save(buffer, format=suffix, dpi=DPI, verbose=False, metadata=metadata[suffix])
    return buffer.getvalue()
