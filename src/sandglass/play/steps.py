"""Where sliders stop: round values around one that a file has."""

import math
import re
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

from sandglass.experiment import units

MANTISSAS = (1, 1.5, 2, 3, 4, 5, 7)
DOWN, UP = 50, 10
"""How far a slider goes: to a fiftieth of the value, and to ten times it."""
QUANTITIES: dict[str, tuple[Callable[[object], int], Callable[[int], str]]] = {
    "rate": (units.parse_rate, units.format_rate),
    "time": (units.parse_time, units.format_time),
    "size": (units.parse_size, units.format_size),
}
OF_OPTIONS = {
    "packets": "length",
    "bytes": "length",
    "time": "time",
    "rate": "rate",
    "number": "number",
    "flag": "flag",
    "text": "text",
}
"""The forms of a qdisc's options, by their types in qdiscs.KINDS."""
LENGTH = re.compile(r"([\d.]+) *([A-Za-z]*)")
FEW = 200
"""Whole numbers within so narrow bounds are stepped evenly."""
EVEN_STEPS, MOST_EVEN = (1, 2, 5, 10), 20


def of(form: str, value: Any, least: float | None = None, most: float | None = None) -> list[Any]:
    """Values around one, in order, it included; none for what has no order."""
    try:
        if form in QUANTITIES:
            read, write = QUANTITIES[form]
            base = read(value)
            around = _around(base) if base else []
            return [value if each == base else write(each) for each in around]
        if form == "share":
            return [f"{each:g}%" for each in _within(float(value.strip(" %")), 0, 100)]
        if form == "length":
            return _lengths(value)
        if form == "whole":
            if least is not None and most is not None and most - least <= FEW:
                return _evenly(int(value), int(least), int(most))
            return [*map(int, _within(int(value), least, most))]
        if form == "number":
            found = _within(float(value), least, most)
            return [int(each) if each == int(each) else each for each in found]
    except (ValueError, AttributeError, TypeError):
        return []
    return []


def of_default(form: str, default: Any) -> list[Any]:
    """Values around a default, as tables of options have it; none where it says no value."""
    if not isinstance(default, str):
        return []
    if form == "number":
        try:
            return of(form, float(default))
        except ValueError:
            return []
    return of(form, int(default) if default.isdecimal() else default)


def form_of(default: Any) -> str:
    """What an option is, by its default."""
    if isinstance(default, str) and re.fullmatch(r"[\d.]+(ms|us|s)", default):
        return "time"
    if isinstance(default, str) and re.fullmatch(r"[\d.]+", default):
        return "number"
    return "text"


def _around(base: int) -> list[int]:
    return sorted({base, *map(int, _round_between(base / DOWN, base * UP))} - {0})


def _round_between(low: float, high: float) -> list[float]:
    """Round numbers: one of MANTISSAS times a power of ten."""
    powers = range(math.floor(math.log10(low)), math.floor(math.log10(high)) + 1)
    found = [float(Decimal(str(m)).scaleb(power)) for power in powers for m in MANTISSAS]
    return [each for each in found if low <= each <= high]


def _within(base: float, least: float | None, most: float | None) -> list[float]:
    """Round numbers around one, within bounds; whole ones around a whole one."""
    whole = isinstance(base, int)
    high = min(base * UP if base else UP, math.inf if most is None else most)
    low = max(base / DOWN if base else 0.1, least or 0, 1 if whole else 0)
    found = _round_between(low, high) if 0 < low <= high else []
    found = [each for each in found if not whole or each == int(each)]
    bounds = [each for each in (least,) if each is not None and base / DOWN <= each]
    return sorted({base, *found, *bounds})


def _evenly(value: int, least: int, most: int) -> list[int]:
    step = next(each for each in EVEN_STEPS if (most - least) // each <= MOST_EVEN)
    between = (each for each in range(0, most, step) if each > least)
    return sorted({value, least, most, *between})


def _lengths(value: Any) -> list[Any]:
    """Lengths of a queue in the unit that one has; a plain number has its qdisc's own."""
    found = LENGTH.fullmatch(str(value).strip())
    if not found:
        return []
    amount, unit = found[1], found[2]
    plain = amount.isdecimal()
    each: Sequence[float] = _within(int(amount) if plain and unit != "bdp" else float(amount), None,
                                    None)  # fmt: skip
    return [f"{number:g}{unit}" if unit else int(number) for number in each]
