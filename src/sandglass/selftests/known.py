"""The list of tests that are known to fail or to be skipped, and why: kernel/selftests.yaml."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, cast

import yaml

from sandglass.errors import SandglassError
from sandglass.install import builds
from sandglass.selftests.running import Result
from sandglass.selftests.targets import Test

FILE = builds.ROOT / "kernel" / "selftests.yaml"
UNEXPLAINED = "unexplained"
"""What is said of what nobody has looked into yet."""
KEYS = {"tests", "kernels", "verdict", "cases", "why"}

Standing = Literal["as expected", "known", "unknown", "mended"]
"""Of a result beside the list: passed; as the list says; fails against it; passes against it."""


@dataclass(frozen=True)
class Entry:
    """What is known of some tests, in some kernels."""

    verdict: Literal["fail", "skip", "slow"]
    """What is slow runs only where it is named; it is not known to fail."""
    why: str
    kernels: tuple[str, ...] = ()
    """Of which series; none for all."""
    cases: tuple[str, ...] = ()
    """Which of its cases fail; none for all that may."""


@dataclass(frozen=True)
class Known:
    """The list, for one kernel."""

    entries: Mapping[str, Entry] = field(default_factory=dict)
    """By TARGET:TEST."""

    def entry(self, test: Test) -> Entry | None:
        """What the list has of a test."""
        return self.entries.get(str(test))

    def standing(self, result: Result) -> Standing:
        """How a result stands to the list; a test that is skipped never fails against it."""
        entry = self.entry(result.test)
        if result.verdict == "fail":
            return "known" if entry and _covers(entry, result) else "unknown"
        if result.verdict == "skip":
            return "known" if entry else "as expected"
        return "mended" if entry and entry.verdict != "slow" else "as expected"

    def mended_cases(self, result: Result) -> list[str]:
        """The cases of a test that the list has, and that pass."""
        entry = self.entry(result.test)
        passed = {case.name for case in result.cases if case.verdict == "pass"}
        return [case for case in entry.cases if case in passed] if entry else []


def _covers(entry: Entry, result: Result) -> bool:
    """Whether a failure is the one that an entry tells of."""
    if entry.verdict != "fail":
        return False
    failed = {case.name for case in result.cases if case.verdict == "fail"}
    return not entry.cases or (bool(failed) and failed <= set(entry.cases))


def read(series: str, path: Path = FILE) -> Known:
    """What the list says of a series of Linux.

    Raises SandglassError, with file and key, when it is wrong.
    """
    try:
        document = yaml.safe_load(path.read_text())
    except yaml.YAMLError as error:
        raise SandglassError(f"{path}: {error}") from None
    if not isinstance(document, list):
        raise SandglassError(f"{path}: it is no list")
    found: dict[str, Entry] = {}
    for number, each in enumerate(document):
        tests, entry = _entry(f"{path}: [{number}]", each)
        if entry.kernels and series not in entry.kernels:
            continue
        for name in tests:
            if name in found:
                raise SandglassError(f"{path}: [{number}].tests: {name} is there twice")
            found[name] = entry
    return Known(found)


def _entry(where: str, each: Any) -> tuple[list[str], Entry]:
    """The tests that a part of the list names, and what it says of them."""
    if not isinstance(each, dict):
        raise SandglassError(f"{where}: it is no mapping")
    for key in each.keys() - KEYS:
        raise SandglassError(f"{where}.{key}: there is no such key", f"keys: {sorted(KEYS)}")
    for key in ("tests", "verdict", "why"):
        if key not in each:
            raise SandglassError(f"{where}.{key}: it is missing")
    if each["verdict"] not in ("fail", "skip", "slow"):
        raise SandglassError(f"{where}.verdict: it is none of fail, skip, slow")
    if not isinstance(each["why"], str) or not each["why"].strip():
        raise SandglassError(f"{where}.why: it is no text", f"`{UNEXPLAINED}` is one.")
    lists = {key: _texts(f"{where}.{key}", each.get(key, [])) for key in KEYS - {"verdict", "why"}}
    kind = cast(Literal["fail", "skip", "slow"], each["verdict"])
    why = " ".join(each["why"].split())
    return lists["tests"], Entry(kind, why, tuple(lists["kernels"]), tuple(lists["cases"]))


def _texts(where: str, value: Any) -> list[str]:
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        raise SandglassError(f"{where}: it is no list of texts", 'Numbers in quotes: "6.12"')
    return value
