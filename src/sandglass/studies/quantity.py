"""Labels of an axis that are quantities, 20ms or 0.5bdp, as the numbers that they stand for."""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from sandglass.experiment import units
from sandglass.experiment.document import Value

WORDS = {"bit": "b/s", "kbit": "kb/s", "mbit": "Mb/s", "gbit": "Gb/s", "tbit": "Tb/s", "us": "µs"}
"""Units as figures have them, where they differ from the experiment file's."""
KIND = "kind"
"""The last part of a key that says nothing: the kind of a queue is the queue."""
LENGTHS = {"bdp": "BDP", "packets": "packets"}


class Scale(NamedTuple):
    """The numbers of an axis by its labels, which are in their order, and their unit."""

    numbers: dict[Value, float]
    unit: str


def scale(labels: Sequence[Value]) -> Scale | None:
    """The labels as numbers of one unit; None where they are names, or of several kinds.

    The unit is the largest in which none is below 1 but 0.
    """
    if not labels or any(isinstance(label, bool) for label in labels):
        return None
    for read in (_plain, _share, _lengths, *map(_of, KINDS)):
        try:
            numbers, unit = read(labels)
        except ValueError:
            continue
        paired = zip(labels, numbers, strict=True)
        return Scale(dict(sorted(paired, key=lambda pair: pair[1])), unit)
    return None


def ordered(labels: Sequence[Value]) -> list[Value]:
    """Quantities by their size, names as they come."""
    found = scale(labels)
    return list(found.numbers) if found else list(labels)


KINDS: tuple[tuple[Callable[[object], int], dict[str, int]], ...] = (
    (units.parse_time, {unit: ns for unit, ns in units.TIMES.items() if unit != "min"}),
    (units.parse_rate, units.RATES),
    (units.parse_size, {unit: size for unit, size in units.SIZES.items() if "i" not in unit}),
)


def _plain(labels: Sequence[Value]) -> tuple[list[float], str]:
    return [float(label) for label in labels], ""


def _share(labels: Sequence[Value]) -> tuple[list[float], str]:
    texts = [str(label).strip() for label in labels]
    if not all(text.endswith("%") for text in texts):
        raise ValueError("no shares")
    return [float(text[:-1]) for text in texts], "%"


def _lengths(labels: Sequence[Value]) -> tuple[list[float], str]:
    lengths = [units.parse_length(label) for label in labels]
    kinds = {length.unit for length in lengths}
    if len(kinds) > 1 or not kinds <= LENGTHS.keys():
        raise ValueError("no lengths in one unit that is theirs alone")
    return [float(length.amount) for length in lengths], LENGTHS[kinds.pop()]


def _of(
    kind: tuple[Callable[[object], int], dict[str, int]],
) -> Callable[[Sequence[Value]], tuple[list[float], str]]:
    parse, scales = kind

    def read(labels: Sequence[Value]) -> tuple[list[float], str]:
        values = [parse(label) for label in labels]
        least = min((value for value in values if value), default=max(scales.values()))
        unit = max((unit for unit in scales if scales[unit] <= least), key=scales.__getitem__)
        return [value / scales[unit] for value in values], WORDS.get(unit, unit)

    return read


def said(label: Value) -> str:
    """A label as people read it: without the last digits of arithmetic."""
    if isinstance(label, float):
        return f"{label:.6g}"
    return str(label).lower() if isinstance(label, bool) else str(label)


def words(name: str, among: Iterable[str] = ()) -> str:
    """An axis or a metric in a sentence: queue delay, RTT; of a key's path the last part.

    Where another one `among` those that are shown has the same, with what goes before.
    """
    before, _, _ = name.rpartition(".")
    found = _last(name)
    shared = any(_last(other) == found for other in among if other != name)
    return f"{found} of {before}" if shared and before else found


def _last(name: str) -> str:
    keys = name.split(".")
    if keys[-1] == KIND and len(keys) > 1:
        keys.pop()
    return " ".join(part.upper() if part in SHORT else part for part in keys[-1].split("_"))


def count(number: int, noun: str) -> str:
    """So many of something: 1 run, 2 runs."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def titled(name: str, unit: str, among: Iterable[str] = ()) -> str:
    """What an axis of a picture or a column of a table is called: Goodput (Mb/s)."""
    found = capital(words(name, among))
    return f"{found} ({unit})" if unit else found


def capital(text: str) -> str:
    """With a capital, the rest as it is."""
    return text[:1].upper() + text[1:]


SHORT = frozenset(["aqm", "bdp", "cc", "ecn", "fct", "plt", "rto", "rtt", "udp", "tcp"])
"""Words that are initials."""
