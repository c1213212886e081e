"""The words in which a workload's file says what may stand in its flows, and what they leave.

The host makes of them the keys of the experiment file, its schema and the columns of tables;
docs/workloads.md says which names a file may define.
"""

from __future__ import annotations

from typing import Any, NamedTuple

RATE = "rate"
"""In bit/s; stands in the file as 20mbit."""
TIME = "time"
"""In ns, 0 or more; stands as 20ms."""
DURATION = "duration"
"""In ns, more than 0."""
SIZE = "size"
"""In bytes; stands as 500kB."""
RANDOM_SIZE = "random size"
"""In bytes, or a distribution to draw them from."""
SIZES = "sizes"
"""One size, random or not, or a list of them; as `size`, a list gives a flow for each."""
OBJECTS = "objects"
"""A list of sizes, or how many and of which size."""
TRACE = "trace"
"""Times in ms, with commas between; stands as the name of a synthetic trace or a file's path."""
WHOLE = "whole number"
NUMBER = "number"
FLAG = "flag"
TEXT = "text"
TEXTS = "list of texts"
"""At least one."""
WORDS = "texts by names"
ARGV = "program and its words"
"""At least one; a word that begins with ./ or ../ is a file beside the experiment's."""
FILES = "files"
"""Files and directories beside the experiment's, by their paths from it."""
SERIES = "series"
"""What is read of the lines that a program says, by names: agent/series.py."""

SERVER = "server"
"""The `role` of a flow that is there before the others start, and until they have ended."""

REQUIRED: Any = object()
"""The default of what has none."""


class Option(NamedTuple):
    """A key of a flow."""

    kind: str
    meaning: str
    """A sentence or two, for the schema and the documentation."""
    default: Any = REQUIRED
    """As the file would write it; None: absent."""
    examples: tuple[Any, ...] = ()
    least: float | None = None
    most: float | None = None
    default_ipv6: Any = None
    """The default of flows with `family: 6`, where it is another."""


class Argument(NamedTuple):
    """What stands behind a colon in the name of a workload, as the test of flent:rrul."""

    noun: str
    example: str


class Column(NamedTuple):
    """A column of a table, or a number of run.json."""

    type: str
    """Of Polars, such as Int64."""
    unit: str
    meaning: str


SENT = "How much it sends, instead of a duration; a list gives a flow for each of its sizes."
SOME_SIZES = (
    "500kB",
    ["10kB", "100kB"],
    {"lognormal": {"median": "30kB", "sigma": 1.2, "most": "1MB"}},
)
