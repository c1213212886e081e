"""What a suite has to know of qdiscs: which there are, their options, and what is in force."""

import math
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from sandglass.errors import UsageError, nearest
from sandglass.experiment import mainline, module_options, qdiscs
from sandglass.experiment.module_options import Options
from sandglass.guide import offer
from sandglass.install.builds import module_directories
from sandglass.results.series import Run
from sandglass.suites import at_path
from sandglass.suites.subject import Parameter

PREFIX: Literal["sch_"] = "sch_"
NOUN = "qdisc"
HALVED = re.compile(r"(\d+(?:\.\d+)?) ?(ns|us|ms|s|p|%|B|KiB|MiB)?")
"""A default that is a number, which has a half and a double."""
MOST = {"pie": {"beta": 32}, "fq_pie": {"beta": 32}, "hhf": {"hh_limit": 2048}}
"""The largest values that tc or the kernel takes, where a default cannot be doubled."""
NOT_TUNED = (
    "limit",
    "memory_limit",
    "memlimit",
    "flows",
    "quantum",
    "rate",
    "avpkt",
    "bandwidth",
    "depth",
)
"""Options that say how large a thing is or what the link is, not how the AQM decides."""


def found(name: str) -> str:
    """The kind of a qdisc that is named, or that a module at a path brings.

    Raises UsageError, which says what there is.
    """
    if "/" in name or Path(name).is_dir():
        return at_path.only(Path(name), PREFIX, NOUN)
    try:
        qdiscs.check_kind(name)
    except ValueError as error:
        if name in qdiscs.NOT_A_QUEUE:
            raise UsageError(str(error)) from None
        known = sorted(qdiscs.KINDS.keys() | qdiscs.modules(PREFIX))
        raise UsageError(
            f"unknown qdisc '{name}'{nearest(name, known)} There are {', '.join(known)}",
            "A module of yours is named by its folder, such as ../aqm/kmods/sch_mine.",
        ) from None
    return name


def about(name: str) -> str:
    """What it is, in a sentence."""
    return dict(offer.queues([])).get(name, "")


def fits(name: str, option: str) -> bool:
    """Whether a qdisc takes an option. A module takes `limit`, and what its page has a row of."""
    if name in qdiscs.KINDS:
        return option in qdiscs.KINDS[name]
    return option == "limit" or option in {row.name for row in _rows(name)}


def parameters(name: str, run: Run) -> list[Parameter]:
    """Its options as tc reports them of a run, with the default of each."""
    known = {row.name: row for row in _rows(name)}
    reported = _reported(name, run)
    found = [
        Parameter(option, str(value), known[option].default, known[option].meaning)
        if option in known
        else Parameter(option, str(value))
        for option, value in reported.items()
    ]
    return found + [row for option, row in known.items() if option not in reported]


def tuned(name: str) -> dict[str, tuple[str, str]]:
    """Its options whose default is a number, each with half and double of it.

    Where tc does not take the double, the largest that it takes is in its place, and a quarter of
    that is the other.
    """
    found = {}
    for row in _rows(name):
        whole = HALVED.fullmatch(row.default)
        if whole and row.name not in NOT_TUNED and float(whole[1]):
            most = MOST.get(name, {}).get(row.name, math.inf)
            number, unit = min(float(whole[1]), most / 2), whole[2] or ""
            if unit in ("", "p") and number % 2 == 1:
                continue  # a whole number, which has no half
            found[row.name] = (_written(number / 2, unit), _written(number * 2, unit))
    return found


def _written(number: float, unit: str) -> str:
    """A time as whole microseconds where it must be; packets are whole."""
    if unit == "ms" and number % 1:
        return f"{number * 1000:g}us"
    return f"{number:g}{unit}"


def _rows(name: str) -> list[Parameter]:
    """Its options: of mainline those of tc with their defaults, of a module those of its page."""
    if name in qdiscs.KINDS:
        defaults: Mapping[str, str] = mainline.DEFAULTS.get(name, {})
        return [Parameter(option, "", defaults.get(option, "")) for option in qdiscs.KINDS[name]]
    return [
        Parameter(option, "", default, row.meaning)
        for place in module_directories()
        for folder in sorted(place.glob(f"{PREFIX}*/"))
        if name in qdiscs.called(folder, PREFIX)
        for row in module_options.options(folder)
        for option, default in zip(row.names, _defaults(row), strict=True)
    ]


def _defaults(row: Options) -> list[str]:
    """Of each option of a row; one default is that of all."""
    each = row.default.split(", ")
    return each if len(each) == len(row.names) else [row.default] * len(row.names)


def _reported(name: str, run: Run) -> dict[str, object]:
    """The options in force, as tc says at the end."""
    for queues in run.field("observed.qdiscs").values():
        for queue in queues:
            if queue.get("kind") == name:
                return {
                    key: value
                    for key, value in queue.get("options", {}).items()
                    if not isinstance(value, dict | list)
                }
    return {}
