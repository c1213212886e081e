"""Quantities with units: rates, times, sizes and the lengths of queues.

Every `parse_` function takes what stands in the experiment file and returns a whole number in the
base unit (bit/s, ns, bytes); it raises ValueError with a message that says what is accepted.
Every `format_` function is its inverse: parse(format(x)) == x.
"""

import difflib
import math
import re
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Literal

# tc's bit units, in which k, M, G and T are powers of 1000.
RATES = {"bit": 1, "kbit": 10**3, "mbit": 10**6, "gbit": 10**9, "tbit": 10**12}
TIMES = {"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9, "min": 60 * 10**9, "h": 3600 * 10**9}
SIZES = {"B": 1, "kB": 10**3, "MB": 10**6, "GB": 10**9, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30}

# tc reads these as bytes per second, most people as bits per second.
AMBIGUOUS_RATES = {"bps": "bit", "kbps": "kbit", "mbps": "mbit", "gbps": "gbit", "tbps": "tbit"}

LARGEST = 2**63 - 1  # what the guest's 64-bit counters of bits and nanoseconds hold

_QUANTITY = re.compile(r"\s*([+-]?)(\d{1,30}(?:\.\d{1,30})?|\.\d{1,30})\s*([^\W\d_]*)\s*", re.ASCII)

# Text that YAML would read as something else if it stood there without quotes.
_QUOTED = re.compile(r"\s.*|.*\s||[-+.\d]+|~|null|yes|no|on|off|true|false", re.IGNORECASE)

Unit = Literal["own", "packets", "bytes", "ns", "bdp"]


@dataclass(frozen=True)
class QueueLength:
    """The length of a queue as written: `amount` of packets, bytes, ns or BDP.

    `own` is a plain number: it counts in the unit of the queue's kind.
    """

    amount: Decimal
    unit: Unit


def parse_rate(text: object) -> int:
    """A rate such as '20mbit', in bit/s; at least 1."""
    return _parse(text, _Scale("rate", "20mbit", RATES, bare=("mbit",), smallest=1))


def parse_time(text: object) -> int:
    """A time such as '100ms', in ns; at least 0."""
    return _parse(text, _Scale("time", "100ms", TIMES, bare=("s", "ms"), smallest=0))


def parse_size(text: object) -> int:
    """A size such as '500kB', in bytes; at least 1."""
    return _parse(text, _Scale("size", "500kB", SIZES, bare=("B",), smallest=1))


def parse_length(text: object) -> QueueLength:
    """The length of a queue: '64p' or 64, '100kB', '50ms' or '0.5bdp'; at least 0."""
    accepted = "write packets (64 or 64p), a size (100kB), a time (50ms) or a share of BDP (0.5bdp)"
    if isinstance(text, int) and not isinstance(text, bool):
        text = str(text)
    match = _QUANTITY.fullmatch(text) if isinstance(text, str) else None
    if match is None:
        raise ValueError(f"{shown(text)} is not the length of a queue: {accepted}")
    sign, digits, unit = match.groups()
    amount = Decimal(digits)
    if sign == "-":
        raise ValueError(f"{text} is negative: {accepted}")
    if amount > LARGEST:
        raise ValueError(f"{shown(text)} is too long: {accepted}")
    if unit in SIZES:
        return QueueLength(Decimal(parse_size(text)) if amount else Decimal(0), "bytes")
    if unit in TIMES:
        return QueueLength(Decimal(parse_time(text)), "ns")
    if unit == "bdp":
        return QueueLength(amount, "bdp")
    if unit not in ("", "p"):
        near = _nearest(unit, [*SIZES, *TIMES, "bdp", "p"])
        raise ValueError(f"{shown(text)} has the unknown unit '{unit}'{near}: {accepted}")
    if amount != amount.to_integral_value():
        raise ValueError(f"{shown(text)} is not a whole number of packets or bytes: {accepted}")
    return QueueLength(amount, "packets" if unit else "own")


def format_rate(bits_per_second: int) -> str:
    return _format(bits_per_second, RATES)


def format_time(ns: int) -> str:
    """In s or below: minutes and hours are read, never written."""
    return _format(ns, {unit: scale for unit, scale in TIMES.items() if scale <= TIMES["s"]})


def format_size(size: int) -> str:
    return _format(size, {unit: scale for unit, scale in SIZES.items() if "i" not in unit})


def format_length(length: QueueLength) -> str | int:
    match length.unit:
        case "own":
            return int(length.amount)
        case "packets":
            return f"{int(length.amount)}p"
        case "bytes":
            return format_size(int(length.amount))
        case "ns":
            return format_time(int(length.amount))
        case "bdp":
            return f"{_plain(length.amount)}bdp"


def bdp_bytes(rate_bps: int, rtt_ns: int) -> Fraction:
    """Bandwidth-delay product in bytes on the wire: rate * RTT / 8. Exact."""
    return Fraction(rate_bps * rtt_ns, 8 * 10**9)


def in_bytes(length: QueueLength, *, rate_bps: int, rtt_ns: int, packet_bytes: int) -> int:
    """The queue length in bytes on the wire, a half rounded up; a plain number is bytes."""
    return _rounded(_bytes(length, rate_bps, rtt_ns, packet_bytes))


def in_packets(length: QueueLength, *, rate_bps: int, rtt_ns: int, packet_bytes: int) -> int:
    """The queue length in full packets, a half rounded up; a plain number is packets.

    What is not 0 is at least 1 packet. `packet_bytes` is a full packet as the shaper counts it:
    MTU + 14 bytes of Ethernet header.
    """
    if length.unit in ("own", "packets"):
        return int(length.amount)
    packets = _bytes(length, rate_bps, rtt_ns, packet_bytes) / packet_bytes
    return max(_rounded(packets), 1) if packets else 0


def shown(value: object) -> str:
    """A value as the experiment file would write it, shortened when it is long."""
    match value:
        case None:
            text = "an empty value"
        case bool():
            text = "true" if value else "false"
        case str():
            text = repr(value) if _QUOTED.fullmatch(value) or not value.isprintable() else value
        case dict():
            text = "a mapping"
        case list():
            text = "a list"
        case _:
            text = str(value)
    return text if len(text) <= 60 else text[:57] + "..."


@dataclass(frozen=True)
class _Scale:
    noun: str
    example: str
    units: dict[str, int]
    bare: tuple[str, ...]  # the units to propose for a number without one
    smallest: int


def _parse(text: object, scale: _Scale) -> int:
    accepted = f"write a number and one of {', '.join(scale.units)}, such as {scale.example}"
    if isinstance(text, int | float) and not isinstance(text, bool):
        text = str(text)
    match = _QUANTITY.fullmatch(text) if isinstance(text, str) else None
    if match is None:
        raise ValueError(f"{shown(text)} is not a {scale.noun}: {accepted}")
    sign, digits, unit = match.groups()
    if not unit:
        meant = " or ".join(f"{digits}{bare}" for bare in scale.bare)
        raise ValueError(f"{sign}{digits} has no unit: write {meant}")
    if scale.units is RATES and unit.lower() in AMBIGUOUS_RATES:
        meant = AMBIGUOUS_RATES[unit.lower()]
        raise ValueError(f"{shown(text)} may be bits or bytes per second: write {digits}{meant}")
    if unit not in scale.units:
        near = _nearest(unit, list(scale.units))
        raise ValueError(f"{shown(text)} has the unknown unit '{unit}'{near}: {accepted}")
    if sign == "-":
        raise ValueError(f"{shown(text)} is negative: a {scale.noun} is {scale.smallest} or more")
    value = Fraction(digits) * scale.units[unit]
    base = next(iter(scale.units))
    if value.denominator != 1:
        raise ValueError(f"{shown(text)} is not a whole number of {base}: the finest is 1{base}")
    if value < scale.smallest:
        raise ValueError(f"{shown(text)} is too small: the smallest {scale.noun} is 1{base}")
    if value > LARGEST:
        raise ValueError(f"{shown(text)} is too large: the largest {scale.noun} is {LARGEST}{base}")
    return int(value)


def _format(value: int, units: dict[str, int]) -> str:
    """In the largest unit that leaves a number of 1 or more, without an exponent."""
    unit, scale = max(
        ((unit, scale) for unit, scale in units.items() if scale <= max(value, 1)),
        key=lambda item: item[1],
    )
    if value == 0:
        unit = "s" if "s" in units else unit
    return f"{_plain(Decimal(value) / scale)}{unit}"


def _plain(number: Decimal) -> str:
    text = f"{number:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def _nearest(unit: str, units: list[str]) -> str:
    folded = {known.lower(): known for known in reversed(units)}
    near = difflib.get_close_matches(unit.lower(), folded, 1, 0.5)
    return f" (did you mean '{folded[near[0]]}'?)" if near else ""


def _bytes(length: QueueLength, rate_bps: int, rtt_ns: int, packet_bytes: int) -> Fraction:
    amount = Fraction(length.amount)
    match length.unit:
        case "own" | "bytes":
            return amount
        case "packets":
            return amount * packet_bytes
        case "ns":
            return bdp_bytes(rate_bps, int(amount))
        case "bdp":
            return amount * bdp_bytes(rate_bps, rtt_ns)


def _rounded(number: Fraction) -> int:
    """To the nearest whole number, a half up."""
    return math.floor(number + Fraction(1, 2))
