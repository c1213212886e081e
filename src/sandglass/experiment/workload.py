"""Workloads: the files of workloads/, and a user's own by path.

Each file says itself what may stand in its flows and what they leave (docs/workloads.md); here it
is found, loaded and asked.
"""

import contextlib
import functools
import importlib
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from sandglass.agent import pyfile
from sandglass.agent.declare import Argument, Column, Option
from sandglass.agent.plan import Options
from sandglass.errors import nearest
from sandglass.experiment import units
from sandglass.install.builds import ROOT

FOLDER = ROOT / "workloads"
sys.path.append(str(ROOT))  # whose package `workloads` is


@dataclass(frozen=True)
class Workload:
    """A workload's file, with what it says of itself."""

    name: str
    """As experiments call it, but for an argument; of a user's own, the name of the file."""
    path: Path
    module: ModuleType

    def _said(self, name: str, otherwise: Any) -> Any:
        return getattr(self.module, name, otherwise)

    @property
    def summary(self) -> str:
        """The first sentence of the file."""
        return " ".join((self.module.__doc__ or self.name).split("\n\n")[0].split())

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

    @property
    def argument(self) -> Argument | None:
        """What stands behind a colon in its name, if anything does."""
        argument: Argument | None = self._said("ARGUMENT", None)
        return argument

    @property
    def usage(self) -> str:
        """How an experiment names it."""
        return self.name if self.argument is None else f"{self.name}:<{self.argument.noun}>"

    @property
    def options(self) -> Mapping[str, Option]:
        """The keys of its flows besides those that every flow has."""
        options: Mapping[str, Option] = self._said("OPTIONS", {})
        return options

    @property
    def columns(self) -> Mapping[str, Column]:
        """What its results add to flows.parquet and run.json."""
        columns: Mapping[str, Column] = self._said("COLUMNS", {})
        return columns

    @property
    def parts(self) -> Mapping[str, Mapping[str, Column]]:
        """Tables of what its flows consist of, by the keys of its results."""
        parts: Mapping[str, Mapping[str, Column]] = self._said("PARTS", {})
        return parts

    @property
    def tables(self) -> Mapping[str, Mapping[str, Column]]:
        """Tables made of what its flows leave in files."""
        tables: Mapping[str, Mapping[str, Column]] = self._said("TABLES", {})
        return tables

    @property
    def leaves(self) -> str:
        """The files that its flows leave, LEAVES-ID.csv."""
        return str(self._said("LEAVES", ""))

    def problems(self, options: Options, lasts_ns: int) -> Iterator[tuple[str, str]]:
        """What is wrong with a flow, by its keys, as the file judges it."""
        judge = self._said("problems", None)
        if judge:
            yield from judge(options, lasts_ns)

    def packets(self, options: Options, time_ns: int) -> int:
        """How many packets a flow sends in so long a time whatever the network does, else 0."""
        count = self._said("packets", None)
        return int(count(options, time_ns)) if count else 0


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
    """The workload in a file. Raises ValueError when it is none."""
    try:
        if path.parent == FOLDER:
            module = importlib.import_module(f"workloads.{path.stem}")
        else:
            module = pyfile.load(str(path), f"workload_{path.stem}")
    except Exception as error:
        raise ValueError(f"{path} cannot be loaded: {type(error).__name__}: {error}") from error
    if not callable(getattr(module, "run", None)):
        raise ValueError(f"{path} is no workload: it defines no run(flow, testbed)")
    return Workload(path.stem, path, module)
