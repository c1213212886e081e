"""The points of a grid: what each is called on its axes, and which keys it sets."""

import copy
import hashlib
import itertools
import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sandglass.experiment import document, own_files
from sandglass.experiment.document import Value
from sandglass.experiment.problems import KeyPath

MOST = 200
"""Replicas that may be asked for."""

UNCHANGED = "as-is"
LONGEST = 120
"""Bytes of a directory's name."""
LONGEST_PATH = 256
"""Characters of what may be the path of a file."""
FILES = "files"
OWN_FILES = ("argv", FILES)
"""Keys of flows that name files by their paths from the experiment's, which programs see too."""


@dataclass(frozen=True, eq=False)
class Setting:
    """One value of an axis, or of several that go in step."""

    labels: Mapping[str, Value]
    """What it is called, by the axes."""
    overrides: Mapping[str, Any]
    """What it sets, by the keys' paths."""
    at: KeyPath = ()
    """Where it stands in a study's file."""


@dataclass(frozen=True)
class Point:
    """One point of a grid."""

    settings: tuple[Setting, ...]

    @property
    def labels(self) -> dict[str, Value]:
        """Its value on each axis."""
        return {axis: label for each in self.settings for axis, label in each.labels.items()}

    @property
    def name(self) -> str:
        """In words: queue=CoDel, rtt=20ms."""
        return named(self.labels)

    @property
    def overrides(self) -> dict[str, Any]:
        """All that it sets, by the keys' paths."""
        return {key: value for each in self.settings for key, value in each.overrides.items()}

    def experiment(self, base: Mapping[str, Any]) -> tuple[dict[str, Any], dict[KeyPath, Setting]]:
        """The experiment with what the point sets, and which setting is behind each key.

        Raises UsageError when a path leads nowhere.
        """
        data, behind = dict(base), {}
        for setting in self.settings:
            for key, value in setting.overrides.items():
                path = document.put(data, key, copy.deepcopy(value), self.name)
                behind[path] = setting
        return data, behind


def named(labels: Mapping[str, Value]) -> str:
    """A point in words, by its value on each axis: queue=CoDel, rtt=20ms."""
    return ", ".join(f"{axis}={text(label)}" for axis, label in labels.items())


def product(factors: Sequence[Sequence[Setting]]) -> list[Point]:
    """Every combination, the last factor's settings changing fastest."""
    return [Point(settings) for settings in itertools.product(*factors)]


def directories(points: Sequence[Point]) -> dict[Point, Path]:
    """Where each point's runs lie, named as it is; another one for each."""
    plain = {point: _plain(point) for point in points}
    shared = Counter(plain.values())
    return {
        point: Path("runs")
        / (name if shared[name] == 1 and len(name.encode()) <= LONGEST else _numbered(point, name))
        for point, name in plain.items()
    }


def _plain(point: Point) -> str:
    return plain("+".join(f"{axis}={text(label)}" for axis, label in point.labels.items()))


def plain(name: str) -> str:
    """A directory's name without what a shell, Snakemake or a file system reads as its own."""
    return re.sub(r"[^\w.=+-]", "", name) or UNCHANGED


def _numbered(point: Point, name: str) -> str:
    return cut(name, LONGEST, json.dumps(list(point.labels.items())))


def cut(name: str, longest: int, whole: str) -> str:
    """The first `longest` bytes of a name, and a hash of the whole that it is for."""
    kept = name.encode()[:longest].decode(errors="ignore")
    return f"{kept}-{hashlib.sha256(whole.encode()).hexdigest()[:8]}"


def text(value: Value) -> str:
    """A value as YAML writes it, so that the command line reads back what the file says."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def rooted(value: Any, home: Path, key: str = "") -> Any:
    """An experiment in which the files that it names beside its own are found from anywhere.

    `key` leads to the value, where it is a part of one.
    """
    if isinstance(value, dict):
        return {name: rooted(each, home, f"{key}.{name}") for name, each in value.items()}
    if isinstance(value, list):
        return [rooted(each, home, key) for each in value]
    if not isinstance(value, str) or len(value) >= LONGEST_PATH:
        return value
    named = next((part for part in reversed(key.split(".")) if not part.isdigit()), "")
    if named in OWN_FILES:
        own = own_files.is_own(value) or named == FILES
        return own_files.rooted(value, home) if own and (home / value).exists() else value
    if Path(value).suffix:
        path = home / value
        return str(path.resolve()) if path.is_file() else value
    return value
