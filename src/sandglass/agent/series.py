"""Numbers over time in the lines that a program says.

An experiment declares series by names. One is a pattern, whose named groups are numbers, or keys
of lines of JSON. A line's time is its number `t`, in seconds from the flow's start, or else when it
was written. Or it is keys of the intervals that iperf3 tells in one object of JSON at its end, each
at the interval's end.
"""

from __future__ import annotations

import json
import math
import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

TIME = "t"
COLUMNS = ("time_ns", "series", "name", "value")
SECOND_NS = 1_000_000_000
LONGEST = 1 << 16
"""Characters of a line: a longer one is none of a series."""


class Series:
    """The series of one flow.

    Attributes:
        rows: of COLUMNS, in the order of the lines.
    """

    def __init__(self, declared: Mapping[str, Mapping[str, Any]], start_ns: int) -> None:
        self._start_ns = start_ns
        self._patterns = {
            name: re.compile(each["pattern"])
            for name, each in declared.items()
            if "pattern" in each
        }
        self._keys = {name: each["json"] for name, each in declared.items() if "json" in each}
        self._iperf3 = {name: each["iperf3"] for name, each in declared.items() if "iperf3" in each}
        self.rows: list[tuple[int, str, str, float]] = []

    def take(self, line: str, written_ns: int) -> None:
        """Read a line that was written at this time."""
        if len(line) > LONGEST:
            return
        for series, pattern in self._patterns.items():
            if found := pattern.search(line):
                self._add(series, found.groupdict(), written_ns)
        if self._keys and line.lstrip().startswith("{"):
            try:
                told = json.loads(line)
            except (ValueError, RecursionError):
                return
            for series, keys in self._keys.items():
                self._add(series, {key: _within(told, key) for key in keys}, written_ns)

    def take_whole(self, path: str) -> None:
        """Read all that a program has said, which is in a file: of iperf3 it is one object."""
        if not self._iperf3:
            return
        try:
            with open(path, errors="replace") as said:
                intervals = json.load(said)["intervals"]
            for interval in intervals:
                of_all, streams = interval["sum"], interval["streams"]
                for series, keys in self._iperf3.items():
                    told = dict(_of_interval(keys, of_all, streams))
                    self._add(series, {TIME: of_all["end"], **told}, 0)
        except (KeyError, TypeError, ValueError, RecursionError):
            return

    def _add(self, series: str, told: Mapping[str, Any], written_ns: int) -> None:
        time_ns = written_ns
        if TIME in told:
            if (seconds := _number(told[TIME])) is None:
                return
            time_ns = self._start_ns + round(seconds * SECOND_NS)
        for name, value in told.items():
            if name != TIME and (number := _number(value)) is not None:
                self.rows.append((time_ns, series, name, number))

    @property
    def silent(self) -> list[str]:
        """Those that no line was of."""
        heard = {series for _, series, _, _ in self.rows}
        return [name for name in (*self._patterns, *self._keys, *self._iperf3) if name not in heard]

    def write(self, path: str) -> None:
        """Write the rows as a table."""
        import csv

        with open(path, "w", newline="") as file:
            table = csv.writer(file, lineterminator="\n")
            table.writerow(COLUMNS)
            table.writerows(self.rows)


def _of_interval(
    keys: Iterable[str], of_all: Mapping[str, Any], streams: Sequence[Mapping[str, Any]]
) -> Iterator[tuple[str, Any]]:
    """What an interval of iperf3's tells by some keys: of all its streams, or else of each.

    That of a stream among several is called by the key and its number, from 1: rtt.1.
    """
    for key in keys:
        if key in of_all:
            yield key, of_all[key]
            continue
        for number, stream in enumerate(streams, 1):
            yield (f"{key}.{number}" if len(streams) > 1 else key), stream.get(key)


def _within(told: Any, key: str) -> Any:
    """What an object has by a key, in which a dot leads into an object within."""
    for part in key.split("."):
        told = told.get(part) if isinstance(told, dict) else None
    return told


def _number(value: Any) -> float | None:
    """A number, as text or not; None: it is none, or infinite."""
    try:
        found = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return found if math.isfinite(found) else None


class Lines:
    """Parts what a program says into lines."""

    def __init__(self) -> None:
        self._left = b""

    def take(self, said: bytes) -> Iterator[str]:
        """The lines that end in what was said next."""
        *whole, self._left = (self._left + said).split(b"\n")
        if len(self._left) > LONGEST * 4:
            self._left = b""
        for line in whole:
            yield line.decode(errors="replace")

    def end(self) -> Iterator[str]:
        """The last line, where nothing ends it."""
        if self._left:
            yield self._left.decode(errors="replace")
