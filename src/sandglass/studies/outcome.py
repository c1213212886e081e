"""What a study found, for the terminal."""

import math
from collections.abc import Mapping
from pathlib import Path

import polars as pl
from rich.console import Console, JustifyMethod
from rich.table import Table
from rich.text import Text

from sandglass.studies import statistics, tables, targets
from sandglass.studies.claims import Judged
from sandglass.studies.points import text
from sandglass.studies.quantity import count
from sandglass.studies.study import Study
from sandglass.terminal import complain, harmless, put, say

MOST_ROWS = 40
MOST_DIGITS = 4
"""After the point."""
COLOURS = {"holds": "green", "fails": "red", "open": "yellow"}


def tell(study: Study, out: Path) -> None:
    """Print the summary, the claims' outcomes, and where the page is."""
    console = Console(highlight=False, markup=False, emoji=False)
    summary = tables.read(targets.SUMMARY, study, out)
    units = {name: metric.unit for name, metric in study.metrics.items()}
    put(table(summary, study.axes, units))
    if alike := statistics.alike(tables.read(targets.RUNS, study, out), study.axes):
        complain(alike, statistics.ALIKE_HINT)
    if study.expects:
        for each in Judged.read(out / targets.CLAIMS):
            said = Text(f"{each.verdict:5}", style=COLOURS[each.verdict])
            said.append(harmless(f" {each.claim}: {each.found}"), "none")
            console.print(said, soft_wrap=True)
    say(f"open {out / targets.INDEX}")


def table(summary: pl.DataFrame, axes: list[str], units: Mapping[str, str]) -> Table:
    """A row for each point: its place, replicas, and each metric's mean and half its interval.

    `units` are those of the metrics, empty where they are not known.
    """
    found = Table(box=None, header_style="bold", pad_edge=False)
    metrics = summary["metric"].unique(maintain_order=True).to_list()
    for name in (*axes, "n", *metrics):
        justify: JustifyMethod = "left" if name in axes else "right"
        unit = f" ({units[name]})" if units.get(name) else ""
        found.add_column(f"{name}{unit}", justify=justify, overflow="fold")
    rows: dict[tuple[str, ...], list[str]] = {}
    for row in summary.to_dicts():
        point = tuple(text(row[axis]) for axis in axes)
        rows.setdefault(point, [str(row["n"])]).append(_told(row))
    for point, cells in list(rows.items())[:MOST_ROWS]:
        found.add_row(*point, *cells)
    if (more := len(rows) - MOST_ROWS) > 0:
        found.caption = f"and {count(more, 'point')} more in {targets.SUMMARY}"
    return found


def _told(row: dict[str, float]) -> str:
    """Such as 18.9 ± 0.2; the second number is half of the 95 % interval, the first as exact."""
    if row["low"] is None or row["low"] == row["high"]:
        return f"{row['mean']:.4g}"
    half = (row["high"] - row["low"]) / 2
    digits = min(MOST_DIGITS, max(0, 1 - math.floor(math.log10(half))))
    missed = " not reached" if row.get("reached") is False else ""
    return f"{row['mean']:.{digits}f} ± {half:.{digits}f}{missed}"
