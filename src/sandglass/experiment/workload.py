"""Workloads: the files of workloads/, and a user's own by path.

Each file says itself what may stand in its flows and what they leave (docs/workloads.md); here it
is found, loaded and asked.
"""

import contextlib
import functools
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sandglass.agent.declare import Argument, Column, Option
from sandglass.agent.plan import Options
from sandglass.errors import nearest
from sandglass.experiment import foreign, units
from sandglass.experiment.values import RECORDS
from sandglass.install.builds import ROOT
from sandglass.records.flow_folders import QLOG

FOLDER = ROOT / "workloads"
NAME = re.compile(r"[A-Za-z]\w*", re.ASCII)
"""Of a column or a table: it becomes the name of a file."""
TYPES = (
    *("Boolean", "String", "Float32", "Float64"),
    *(f"{sign}Int{bits}" for sign in ("", "U") for bits in (8, 16, 32, 64)),
)
"""Of columns, as Polars calls them."""
KEYS = ("id", "flow", "seed")
"""Say of which flow a row is."""


@dataclass(frozen=True, eq=False)  # one for each file, by which models of flows are known
class Workload:
    """A workload's file, with what it says of itself."""

    name: str
    """As experiments call it, but for an argument; of a user's own, the name of the file."""
    path: Path
    said: Mapping[str, Any]
    """As python_file.workload tells it."""

    def _said(self, name: str, otherwise: Any) -> Any:
        return self.said.get(name, otherwise)

    @property
    def summary(self) -> str:
        """The first sentence of the file."""
        return " ".join((self.said["doc"] or self.name).split("\n\n")[0].split())

    @property
    def ours(self) -> bool:
        """Whether it came with Sandglass."""
        return self.path.parent == FOLDER

    @property
    def file(self) -> str:
        """Where the guest finds it: below the checkout, or in the run's directory."""
        return f"workloads/{self.path.name}" if self.ours else f"workload-{self.path.name}"

    @property
    def tcp(self) -> bool:
        """Whether its flows may set `cc` and `ecn`."""
        return bool(self._said("TCP", False))

    @property
    def ipv6(self) -> bool:
        """Whether its flows may set `family`."""
        return bool(self._said("IPV6", False))

    @property
    def receiver_opens(self) -> bool:
        """Whether the host at the other end opens the connection: it fetches."""
        return bool(self._said("OPENER", "from") == "to")

    @property
    def other_end_chooses(self) -> bool:
        """Whether a flow's congestion control is that of both ends."""
        return bool(self._said("OTHER_END_CHOOSES", True))

    @property
    def ends_by_itself(self) -> bool:
        """Whether it ends without a size or a duration."""
        return bool(self._said("ENDS_BY_ITSELF", False))

    @functools.cached_property
    def argument(self) -> Argument | None:
        """What stands behind a colon in its name, if anything does."""
        told = self._said("ARGUMENT", None)
        return Argument(*told) if told else None

    @property
    def usage(self) -> str:
        """How an experiment names it."""
        return self.name if self.argument is None else f"{self.name}:<{self.argument.noun}>"

    @functools.cached_property
    def options(self) -> Mapping[str, Option]:
        """The keys of its flows besides those that every flow has."""
        return {name: _option(told) for name, told in self.said["OPTIONS"].items()}

    @functools.cached_property
    def columns(self) -> Mapping[str, Column]:
        """What its results add to flows.parquet and run.json."""
        return _columns(self.said["COLUMNS"])

    @functools.cached_property
    def parts(self) -> Mapping[str, Mapping[str, Column]]:
        """Tables of what its flows consist of, by the keys of its results."""
        return {name: _columns(told) for name, told in self.said["PARTS"].items()}

    @functools.cached_property
    def tables(self) -> Mapping[str, Mapping[str, Column]]:
        """Tables made of what its flows leave in files."""
        return {name: _columns(told) for name, told in self.said["TABLES"].items()}

    @property
    def leaves(self) -> str:
        """The files that its flows leave, LEAVES-ID.csv."""
        return str(self._said("LEAVES", ""))

    @property
    def leaves_with(self) -> str:
        """The key without which a flow leaves none; empty: all leave one."""
        return str(self._said("LEAVES_WITH", ""))

    def problems(self, options: Options, lasts_ns: int) -> Iterator[tuple[str, str]]:
        """What is wrong with a flow, by its keys, as the file judges it."""
        if "problems" in self.said["functions"]:
            yield from map(tuple, foreign.ask("problems", self.path, options, lasts_ns))

    def packets(self, options: Options, time_ns: int) -> int:
        """How many packets a flow sends in so long a time whatever the network does, else 0."""
        if "packets" not in self.said["functions"]:
            return 0
        return int(foreign.ask("packets", self.path, options, time_ns))

    @property
    def may_outlast(self) -> bool:
        """Whether a flow with the role of a server goes on until the others have ended."""
        return "outlasts" in self.said["functions"]

    @property
    def evaluates(self) -> bool:
        """Whether it computes a table and numbers from what a flow has left."""
        return "evaluate" in self.said["functions"]


def _option(told: Mapping[str, Any]) -> Option:
    return Option(**{**told, "examples": tuple(told.get("examples", ()))})


def _columns(told: Mapping[str, list[str]]) -> dict[str, Column]:
    return {name: Column(*each) for name, each in told.items()}


def names() -> list[str]:
    """The workloads that come with Sandglass."""
    return sorted(path.stem for path in FOLDER.glob("[!_]*.py"))


def find(called: str, beside: Path) -> Workload:
    """The workload that an experiment in the directory `beside` calls so.

    Raises ValueError, with what to write instead.
    """
    if called.endswith(".py"):
        with contextlib.suppress(OSError):  # such as a name that is too long for one
            if (beside / called).is_file():
                return load((beside / called).resolve())
        raise ValueError(f"no workload file {units.shown(called)}. {accepted()}")
    name, colon, argument = called.partition(":")
    if name not in names():
        near = nearest(name, names())
        raise ValueError(f"unknown workload {units.shown(name)}{near} {accepted()}")
    workload = ours(name)
    if workload.argument is None and colon:
        raise ValueError(f"{name} takes nothing behind a colon. {accepted()}")
    if workload.argument is not None and not argument:
        raise ValueError(f"which {workload.argument.noun}? Write {workload.usage}")
    return workload


def accepted() -> str:
    """What an experiment may write."""
    usual = ", ".join(ours(name).usage for name in names())
    return f"Use one of {usual}, or the path of a .py file"


def ours(name: str) -> Workload:
    """One that comes with Sandglass."""
    return load(FOLDER / f"{name}.py")


@functools.cache
def load(path: Path) -> Workload:
    """The workload in a file. Raises ValueError when it is none, or names what it cannot leave."""
    found = Workload(path.stem, path, foreign.ask("workload", path))
    for fault in _faults(found):
        raise ValueError(f"{path}: {fault}")
    return found


def _faults(found: Workload) -> Iterator[str]:
    """What is wrong with the names and types of what a stranger's flows leave."""
    tables = [*found.parts, *found.tables]
    every = [found.columns, *found.parts.values(), *found.tables.values()]
    names = [*tables, *(column for columns in every for column in columns)]
    for name in [*names, *filter(None, [found.leaves])]:
        if not NAME.fullmatch(name):
            yield f"{units.shown(name)} is no name: use letters, digits and _"
    for name in tables:
        if name in (*RECORDS, "flows", QLOG) or tables.count(name) > 1:
            yield f"there is a table {name} already: call it otherwise"
    for columns in every:
        for name, column in columns.items():
            if name in KEYS:
                yield f"there is a column {name} already: call it otherwise"
            if column.type not in TYPES:
                near = nearest(column.type, TYPES)
                yield f"column {name} has no type {units.shown(column.type)}{near}"


def at_odds(kinds: Iterable[Workload]) -> str | None:
    """The table or column of flows that two workloads of a run declare each in its own way."""
    met: dict[str, tuple[object, Workload]] = {}
    for kind in kinds:
        told: dict[str, object] = {
            f"column {name} of flows": column[:2] for name, column in kind.columns.items()
        }
        for table, columns in [*kind.parts.items(), *kind.tables.items()]:
            told[f"table {table}"] = [(name, *each[:2]) for name, each in columns.items()]
        for what, own in told.items():
            before, whose = met.setdefault(what, (own, kind))
            if before != own:
                return f"{whose.name} and {kind.name} each have another {what}"
    return None
