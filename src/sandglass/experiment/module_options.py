"""The options of qdiscs from kmods/, as the pages of their modules have them.

A module's README.md has them in a table whose first column is headed `option`: name, default, and
what it is, or without a column for the default. One row may be about several.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

PAGE = "README.md"
TABLE = re.compile(r"^\| option \|.*\n\|[-|]+\n((?:\|.*\n)*)", re.M)


class Options(NamedTuple):
    """A row of the table."""

    names: list[str]
    default: str
    """In words, such as off or needed; empty where the table has no such column."""
    meaning: str


def options(module: Path) -> Iterator[Options]:
    """Those of a module, by its folder; none where its page has no such table."""
    page = module / PAGE
    found = TABLE.search(page.read_text() + "\n") if page.is_file() else None
    for line in found[1].splitlines() if found else ():
        cells = [cell.strip() for cell in line.strip().strip("|").replace("`", "").split("|")]
        yield Options(cells[0].split(", "), cells[1] if len(cells) > 2 else "", cells[-1])


def flags(module: Path) -> Iterator[str]:
    """Those that are on or off."""
    for row in options(module):
        if row.default in ("on", "off"):
            yield from row.names
