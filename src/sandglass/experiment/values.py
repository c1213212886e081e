"""Values of the experiment file: quantities, names, and other things without keys of their own."""

import re
import unicodedata
from collections.abc import Callable, Iterable
from decimal import Decimal
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, PlainSerializer, PlainValidator, WithJsonSchema

from sandglass.errors import nearest
from sandglass.experiment import mainline, qdiscs, units
from sandglass.experiment.problems import PartError, Problem
from sandglass.install import builds

# Of mainline; further ones come from kmods/tcp_<name>.
CONGESTION_CONTROLS = frozenset(mainline.CONGESTION_CONTROLS)
RECORDS = ("packets", "acks", "queues", "goodput", "headers")
AT_LINKS = ("packets", "queues", "headers")
"""Of them those that are recorded at links."""
SLOWEST_LINK = 8  # bit/s; tc's shapers count whole bytes
LONGEST_TITLE = 200
LEAST_MEMORY, MOST_MEMORY = 128 * 10**6, 10**12
NO_TEXT = ("Cc", "Cs", "Zl", "Zp")
"""Of Unicode's categories: control characters, halves of characters, separators of lines."""
DEFAULT_RECORDS = ("packets", "acks", "queues")


def protocols_of_both_ends() -> frozenset[str]:
    """Congestion controls, such as DCTCP, that both ends must have, and that always use ECN."""
    return frozenset(name for module in builds.described() for name in module.both_ends)


def _quantity(
    parse: Callable[[object], Any], write: Callable[[Any], str | int], units_: Iterable[str]
) -> tuple[BeforeValidator, PlainSerializer, WithJsonSchema]:
    pattern = rf"^\s*(\d+(\.\d+)?|\.\d+)\s*({'|'.join(units_)})\s*$"
    return (
        BeforeValidator(parse),
        PlainSerializer(write),
        WithJsonSchema({"type": "string", "pattern": pattern}),
    )


def _duration(text: object) -> int:
    ns = units.parse_time(text)
    if ns == 0:
        raise ValueError("0 is no time to run: write a longer one, such as 10s")
    return ns


def _link_rate(text: object) -> int:
    rate = units.parse_rate(text)
    if rate < SLOWEST_LINK:
        slowest = units.format_rate(SLOWEST_LINK)
        raise ValueError(f"{units.shown(text)} is too small: the slowest link has {slowest}")
    return rate


def _memory(text: object) -> int:
    size = units.parse_size(text)
    if not LEAST_MEMORY <= size <= MOST_MEMORY:
        raise ValueError(f"{units.shown(text)} is no lab's memory: write 128MB to 1000GB")
    return size


def _share(text: object) -> float:
    found = (
        re.fullmatch(r"\s*(\d{1,3}(?:\.\d{1,12})?)\s*%\s*", text) if isinstance(text, str) else None
    )
    if found is None:
        raise ValueError(f"{units.shown(text)} is not a share: write a percentage, such as 1%")
    if float(found[1]) > 100:
        raise ValueError(f"{text} is more than all: write at most 100%")
    return float(Decimal(found[1]) / 100)


def _spread(text: object) -> int | float:
    """A time in ns, or a share."""
    if isinstance(text, str) and "%" in text:
        return _share(text)
    return units.parse_time(text)


def _written_spread(spread: int | float) -> str:
    return percent(spread) if isinstance(spread, float) else units.format_time(spread)


def _name(text: object, noun: str, shape: str = r"[A-Za-z0-9][A-Za-z0-9_-]*") -> str:
    if not isinstance(text, str):
        raise ValueError(f"{units.shown(text)} is not the name of a {noun}: write text")
    if not re.fullmatch(shape, text):
        raise ValueError(f"{units.shown(text)} is not the name of a {noun}: use letters, digits, _")
    return text


def _family(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise ValueError(f"{units.shown(value)} is not a whole number: write 4 or 6")
    if value not in (4, 6):
        raise ValueError(f"{value} is no family of addresses: write 4 or 6")
    return value


def _kernel(value: object) -> str:
    # Without quotes a series is a number to YAML.
    found = str(value) if isinstance(value, str | float) else ""
    if builds.series(found) not in builds.kernels() and found not in (named := builds.names()):
        known = f", or what a lab is called: {', '.join(named)}" if named else ""
        raise ValueError(
            f"{units.shown(value)} is no kernel: write {' or '.join(builds.kernels())}, "
            f"or one of them with {builds.DEBUG} behind it{known}"
        )
    return found


def _package(name: object) -> str:
    if not isinstance(name, str) or not re.fullmatch(r"[a-z0-9][a-z0-9+.-]+", name):
        raise ValueError(f"{units.shown(name)} is no name of a Debian package, such as iperf3")
    return name


def _title(text: object) -> str:
    if not isinstance(text, str):
        raise ValueError(f"{units.shown(text)} is not text: put it in quotes")
    if len(text) > LONGEST_TITLE:
        raise ValueError(f"has {len(text)} characters: write at most {LONGEST_TITLE}")
    if any(unicodedata.category(character) in NO_TEXT for character in text):
        raise ValueError("has a character that is none, or begins a new line: write one line")
    return text


def _qdisc(text: object) -> str:
    kind = _name(text, "qdisc")
    qdiscs.check_kind(kind)
    return kind


def _congestion_control(text: object) -> str:
    name = _name(text, "congestion control")
    known = CONGESTION_CONTROLS | qdiscs.modules("tcp_")
    if name not in known:
        raise ValueError(
            f"unknown congestion control '{name}'{nearest(name, known)} "
            f"Use one of {', '.join(sorted(known))}, or add a module kmods/tcp_<name>, "
            "whose Kbuild says: obj-m := tcp_<name>.o"
        )
    return name


def _sysctls(value: object) -> dict[str, str]:
    if not isinstance(value, dict):
        raise ValueError(
            f"{units.shown(value)} is not a mapping: write names and values, "
            "such as {net.ipv4.tcp_sack: 0}"
        )
    problems: list[Problem] = []
    for name, setting in value.items():
        if not re.fullmatch(r"net(\.[A-Za-z0-9_-]+)+", str(name)):
            problems.append(
                (
                    (str(name),),
                    "not a sysctl of a host: its name begins with net., such as net.ipv4.tcp_sack",
                )
            )
        elif (
            isinstance(setting, bool)
            or not isinstance(setting, str | int)
            or not (str(setting).isascii() and str(setting).isprintable())
        ):
            problems.append(
                ((name,), f"{units.shown(setting)} is not a sysctl's value: write a number or text")
            )
    if problems:
        raise PartError(problems)
    return {name: str(setting) for name, setting in value.items()}


def _record(value: object) -> list[str]:
    accepted = f"write a list of some of {', '.join(RECORDS)} and of links' names, or []"
    if not isinstance(value, list):
        raise ValueError(f"{units.shown(value)} is not a list: {accepted}")
    problems: list[Problem] = []
    for index, name in enumerate(value):
        if not isinstance(name, str):
            problems.append(((index,), f"{units.shown(name)} is no text: {accepted}"))
        elif name in value[:index]:
            problems.append(((index,), f"{name} stands there twice: name it once"))
    if problems:
        raise PartError(problems)
    return sorted(value, key=lambda name: RECORDS.index(name) if name in RECORDS else len(RECORDS))


def time_or(word: str) -> Any:
    """The type of a time in ns, in whose place a word may stand."""

    def read(value: object) -> int | str:
        if value == word:
            return word
        try:
            return units.parse_time(value)
        except ValueError as error:
            raise ValueError(f"{error}; or {word}") from None

    return Annotated[
        int | str,
        PlainValidator(read, json_schema_input_type=Literal[word] | Time),
        PlainSerializer(lambda given: given if given == word else units.format_time(given)),
    ]


def percent(share: float) -> str:
    """A share of 1, in percent, as it is written and as tc reads it."""
    return f"{Decimal(str(share)) * 100:f}%"


def word(value: object) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise ValueError(f"{units.shown(value)} is not a word: write text, in quotes where needed")
    if "\0" in str(value):
        raise ValueError("has a character 0, which no program takes")
    return str(value)


Word = Annotated[
    str,
    BeforeValidator(word),
    WithJsonSchema({"type": ["string", "number"]}),
]
"""Of a command line; a number is one too."""
Title = Annotated[
    str,
    BeforeValidator(_title),
    WithJsonSchema({"type": "string", "maxLength": LONGEST_TITLE}),
]
Kernel = Annotated[str, BeforeValidator(_kernel), WithJsonSchema({"type": ["string", "number"]})]
"""A series of Linux that there are labs of, such as 7.2 or 6.12-debug, or the name of a lab."""
PackageName = Annotated[str, BeforeValidator(_package), WithJsonSchema({"type": "string"})]
"""Of a package of Debian."""
Family = Annotated[int, BeforeValidator(_family), WithJsonSchema({"enum": [4, 6]})]
"""Of IP addresses."""
Rate = Annotated[(int, *_quantity(units.parse_rate, units.format_rate, units.RATES))]
LinkRate = Annotated[(int, *_quantity(_link_rate, units.format_rate, units.RATES))]
Time = Annotated[(int, *_quantity(units.parse_time, units.format_time, units.TIMES))]
Duration = Annotated[(int, *_quantity(_duration, units.format_time, units.TIMES))]
Memory = Annotated[(int, *_quantity(_memory, units.format_size, units.SIZES))]
Size = Annotated[(int, *_quantity(units.parse_size, units.format_size, units.SIZES))]
Share = Annotated[
    float,
    BeforeValidator(_share),
    PlainSerializer(percent),
    WithJsonSchema({"type": "string", "pattern": r"^\s*\d{1,3}(\.\d{1,12})?\s*%\s*$"}),
]
"""Of 1; written in percent."""
Spread = Annotated[
    int | float,
    BeforeValidator(_spread),
    PlainSerializer(_written_spread),
    WithJsonSchema(
        {
            "type": "string",
            "pattern": rf"^\s*((\d+(\.\d+)?|\.\d+)\s*({'|'.join(units.TIMES)})"
            r"|\d{1,3}(\.\d{1,12})?\s*%)\s*$",
        }
    ),
]
"""A time, as a whole number of ns, or a share of another one, as a float."""


def spread_ns(time_ns: int, spread: int | float) -> int:
    """A spread of a time in ns."""
    return round(time_ns * spread) if isinstance(spread, float) else spread


Length = Annotated[
    units.QueueLength,
    BeforeValidator(units.parse_length),
    PlainSerializer(units.format_length),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "integer", "minimum": 0},
                {
                    "type": "string",
                    "pattern": r"^\s*(\d+(\.\d+)?|\.\d+)\s*"
                    rf"(|p|bdp|{'|'.join([*units.SIZES, *units.TIMES])})\s*$",
                },
            ]
        }
    ),
]
NAMED = {"type": "string", "pattern": "^[A-Za-z0-9][A-Za-z0-9_-]*$"}
NAME = WithJsonSchema(NAMED)
Kind = Annotated[str, BeforeValidator(_qdisc), NAME]
CongestionControl = Annotated[str, BeforeValidator(_congestion_control), NAME]
Host = Annotated[str, BeforeValidator(lambda text: _name(text, "host")), NAME]
Named = Annotated[
    str,
    BeforeValidator(lambda text: _name(text, "series", r"[A-Za-z][A-Za-z0-9_]*")),
    WithJsonSchema({"type": "string", "pattern": "^[A-Za-z][A-Za-z0-9_]*$"}),
]
"""What a user calls something of a run."""
Sender = Annotated[
    Host,
    WithJsonSchema({"anyOf": [NAMED, {"type": "array", "items": NAMED, "minItems": 1}]}),
]
"""In a file it may be a list, of which reading.py has made flows of their own."""
Sysctls = Annotated[
    dict[str, str],
    BeforeValidator(_sysctls),
    WithJsonSchema(
        {
            "type": "object",
            "propertyNames": {"pattern": r"^net(\.[A-Za-z0-9_-]+)+$"},
            "additionalProperties": {"type": ["string", "integer"]},
        }
    ),
]
Record = Annotated[
    list[str],
    BeforeValidator(_record),
    WithJsonSchema(
        {
            "type": "array",
            "items": {"anyOf": [{"enum": list(RECORDS)}, {"type": "string"}]},
            "uniqueItems": True,
        }
    ),
]
