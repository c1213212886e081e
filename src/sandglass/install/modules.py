"""What the folder of a kernel module says of the module, in its module.toml.

The keys of the file:

    summary              what it is, in a line
    qdiscs               kinds of qdiscs that it brings
    xstats               members of the structure with their statistics, in order
    congestion_controls  those that it brings
    info                 members of the structure that they hand out by getsockopt(TCP_CC_INFO)
    both_ends            those of them that both ends need, and that always use ECN
    sysctl               settings that a network namespace has of its own
    kernel               the oldest series of Linux that has what it needs, such as 7.2

A member has a `name`, which becomes a column, and a `type` from u8 to u64 or s8 to s64;
`fraction_bits` of a fixed-point number; and, for people, `unit` and `meaning`. A sysctl has a
`name`, `least` and `most`, each a number or the last word of another sysctl's name, how many
`numbers` it takes, its `default`, and `unit` and `meaning`.

Nothing here needs more than the standard library, as in builds.py; with Python 3.10, tomli.
"""

import functools
import sys
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass, fields
from pathlib import Path
from typing import Any, TypeVar

from sandglass.errors import SandglassError

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

FILE = "module.toml"
LINUX = Path(__file__).with_name("linux.toml")
TYPES = {f"{sign}{bits}": bits // 8 for sign in "us" for bits in (8, 16, 32, 64)}
"""Types of members, and their sizes in bytes."""
LARGEST_XSTATS, LARGEST_INFO = 64, 20
"""Bytes that the recorder keeps of each (XSTATS_SIZE and CC_INFO_SIZE of recorder.c)."""
T = TypeVar("T", "Module", "Member", "Sysctl")
COUNTS = ("no", "a whole number", "two whole numbers", "three whole numbers")


@dataclass(frozen=True)
class Member:
    """A member of a structure that the kernel hands out."""

    name: str
    type: str
    fraction_bits: int = 0
    unit: str = ""
    meaning: str = ""


@dataclass(frozen=True)
class Sysctl:
    """A setting of a network namespace."""

    name: str
    least: int | str
    most: int | str
    numbers: int = 1
    default: str = ""
    unit: str = ""
    meaning: str = ""

    @property
    def advice(self) -> str:
        """What it takes, for somebody who has written something else."""
        unit = f", in {self.unit}" if self.unit else ""
        if (self.least, self.most) == (0, 1):
            return "Write 0 or 1."
        return f"Write {COUNTS[self.numbers]} from {self.least} to {self.most}{unit}."


@dataclass(frozen=True)
class Module:
    """What a module.toml says; all of it may be left out."""

    summary: str = ""
    qdiscs: Sequence[str] = ()
    xstats: Sequence[Member] = ()
    congestion_controls: Sequence[str] = ()
    info: Sequence[Member] = ()
    both_ends: Sequence[str] = ()
    sysctl: Sequence[Sysctl] = ()
    kernel: str = ""

    @property
    def layout(self) -> str:
        """What decides how its statistics are read, in a text that tells layouts apart."""
        return " ".join(
            f"{member.name}:{member.type}:{member.fraction_bits}"
            for member in (*self.xstats, *self.info)
        )


def read(path: Path) -> Module:
    """What a module.toml says; an empty Module where there is none.

    Raises SandglassError naming the file and what is wrong in it.
    """
    return _read(path, path.stat().st_mtime_ns) if path.is_file() else Module()


@functools.cache
def linux() -> Sequence[Module]:
    """The same of Linux's own qdiscs and congestion controls, where it is not as of all others."""
    tables = tomllib.loads(LINUX.read_text())["module"]
    return [_module(table) for table in tables]


@functools.lru_cache
def _read(path: Path, _changed_ns: int) -> Module:
    try:
        return _module(tomllib.loads(path.read_text()))
    except ValueError as error:
        raise SandglassError(f"{path}: {error}", "docs/kmods.md says what it may hold") from None


def _module(table: Mapping[str, Any]) -> Module:
    found = dict(table)
    for key in ("xstats", "info"):
        found[key] = [_made(Member, member, key) for member in table.get(key, [])]
        for member in found[key]:
            if member.type not in TYPES:
                raise ValueError(
                    f"{key}: {member.name}: {member.type} is none of {', '.join(TYPES)}"
                )
    found["sysctl"] = [_made(Sysctl, sysctl, "sysctl") for sysctl in table.get("sysctl", [])]
    module = _made(Module, found, "the file")
    for key, members, most in (
        ("xstats", module.xstats, LARGEST_XSTATS),
        ("info", module.info, LARGEST_INFO),
    ):
        if (size := sum(TYPES[member.type] for member in members)) > most:
            raise ValueError(f"{key} has {size} bytes; the recorder keeps up to {most}")
    return module


def _made(kind: type[T], table: Mapping[str, Any], where: str) -> T:
    """The dataclass that a table describes; raises ValueError for a key that is no field's."""
    known = {field.name: field for field in fields(kind)}
    for key in table.keys() - known.keys():
        raise ValueError(f"{where}: there is no key {key}; there are {', '.join(known)}")
    for name, field in known.items():
        if name not in table and field.default is MISSING:
            raise ValueError(f"{where}: the key {name} is missing")
    return kind(**table)
