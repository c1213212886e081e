"""The queues a bottleneck may have: tc's qdiscs, their options, and what their limits count.

The table follows the usage texts of iproute2 (tc/q_*.c). A kind from kmods/ takes any option:
its own tc plugin judges them.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from sandglass.errors import nearest
from sandglass.experiment import units
from sandglass.experiment.units import QueueLength
from sandglass.install.builds import aliases, module_directories, once

LARGEST_COUNT = 2**32 - 1  # the kernel's limits are 32 bits wide

# Type of each option. A flag with a slash names the word that switches it off.
_PIE = {
    "limit": "packets",
    "target": "time",
    "tupdate": "time",
    "alpha": "number",
    "beta": "number",
    "bytemode": "flag/nobytemode",
    "ecn": "flag/noecn",
    "dq_rate_estimator": "flag/no_dq_rate_estimator",
}
_CODEL = {
    "limit": "packets",
    "target": "time",
    "interval": "time",
    "ecn": "flag/noecn",
    "ce_threshold": "time",
}
KINDS: dict[str, dict[str, str]] = {
    "pfifo": {"limit": "packets"},
    "bfifo": {"limit": "bytes"},
    "pfifo_head_drop": {"limit": "packets"},
    "pfifo_fast": {},
    "codel": _CODEL,
    "fq_codel": _CODEL
    | {
        "flows": "number",
        "memory_limit": "bytes",
        "quantum": "bytes",
        "ce_threshold_selector": "text",
        "drop_batch": "number",
    },
    "pie": _PIE,
    "fq_pie": _PIE
    | {"flows": "number", "quantum": "bytes", "memory_limit": "bytes", "ecn_prob": "number"},
    "dualpi2": {
        "limit": "packets",
        "memlimit": "bytes",
        "coupling_factor": "number",
        "step_thresh": "text",
        "min_qlen_step": "packets",
        "drop_on_overload": "flag",
        "overflow": "flag",
        "drop_enqueue": "flag",
        "drop_dequeue": "flag",
        "l4s_ect": "flag",
        "cla_ect": "flag",
        "any_ect": "flag",
        "classic_protection": "text",
        "max_rtt": "time",
        "typical_rtt": "time",
        "target": "time",
        "tupdate": "time",
        "alpha": "number",
        "beta": "number",
        "split_gso": "flag/no_split_gso",
    },
    "red": {
        "limit": "bytes",
        "min": "bytes",
        "max": "bytes",
        "avpkt": "bytes",
        "burst": "packets",
        "adaptive": "flag",
        "probability": "number",
        "bandwidth": "rate",
        "ecn": "flag",
        "harddrop": "flag",
        "nodrop": "flag",
    },
    "choke": {
        "limit": "packets",
        "bandwidth": "rate",
        "ecn": "flag",
        "min": "packets",
        "max": "packets",
        "burst": "packets",
    },
    "sfb": {
        "limit": "packets",
        "rehash": "number",
        "db": "number",
        "max": "packets",
        "target": "packets",
        "increment": "number",
        "decrement": "number",
        "penalty_rate": "number",
        "penalty_burst": "packets",
    },
    "sfq": {
        "limit": "packets",
        "perturb": "number",
        "quantum": "bytes",
        "divisor": "number",
        "flows": "number",
        "depth": "packets",
        "headdrop": "flag",
        "redflowlimit": "bytes",
        "min": "bytes",
        "max": "bytes",
        "avpkt": "bytes",
        "burst": "packets",
        "probability": "number",
        "ecn": "flag",
        "harddrop": "flag",
    },
    "fq": {
        "limit": "packets",
        "flow_limit": "packets",
        "quantum": "bytes",
        "initial_quantum": "bytes",
        "maxrate": "rate",
        "buckets": "number",
        "pacing": "flag/nopacing",
        "refill_delay": "time",
        "low_rate_threshold": "rate",
        "orphan_mask": "number",
        "timer_slack": "text",
        "ce_threshold": "time",
        "horizon": "time",
        "horizon_cap": "flag",
        "horizon_drop": "flag",
    },
    "netem": {
        "limit": "packets",
        "delay": "text",
        "distribution": "text",
        "corrupt": "text",
        "duplicate": "text",
        "loss": "text",
        "ecn": "flag",
        "reorder": "text",
        "gap": "number",
        "rate": "text",
        "slot": "text",
    },
    "cake": {
        "bandwidth": "rate",
        "unlimited": "flag",
        "rtt": "time",
        "memlimit": "bytes",
        "fwmark": "text",
        "overhead": "number",
        "mpu": "number",
        "nat": "flag/nonat",
        "wash": "flag/nowash",
        "split-gso": "flag/no-split-gso",
        "ack-filter": "flag/no-ack-filter",
    }
    | dict.fromkeys(
        [
            *["besteffort", "diffserv3", "diffserv4", "diffserv8"],
            *["flowblind", "srchost", "dsthost", "hosts", "flows"],
            *["dual-srchost", "dual-dsthost", "triple-isolate", "ack-filter-aggressive"],
            *["ptm", "atm", "noatm", "conservative", "raw", "ingress", "egress"],
            *["datacentre", "lan", "metro", "regional", "internet", "oceanic"],
            *["satellite", "interplanetary"],
        ],
        "flag",
    ),
    "hhf": {
        "limit": "packets",
        "quantum": "bytes",
        "hh_limit": "number",
        "reset_timeout": "time",
        "admit_bytes": "bytes",
        "evict_timeout": "time",
        "non_hh_weight": "number",
    },
    "skbprio": {"limit": "packets"},
}
REQUIRED = {"red": ("limit", "avpkt"), "choke": ("limit", "bandwidth")}

# Kinds that need classes, filters, several commands or hardware queues, which an experiment
# cannot give them.
NOT_A_QUEUE = frozenset(
    [
        *["cbs", "clsact", "drr", "ets", "etf", "gred", "hfsc", "htb", "ingress", "mq", "mqprio"],
        *["multiq", "noqueue", "plug", "prio", "qfq", "taprio", "tbf", "teql"],
    ]
)


REGISTERS = {"sch_": "register_qdisc(", "tcp_": "tcp_register_congestion_control("}
"""What the code of a module calls that adds one."""


@dataclass(frozen=True)
class Link:
    """What a queue length in time or BDP refers to."""

    rate_bps: int
    rtt_ns: int
    packet_bytes: int  # a full packet on the wire


PREFIXES: tuple[Literal["sch_", "tcp_"], ...] = ("sch_", "tcp_")


def modules(prefix: Literal["sch_", "tcp_"]) -> set[str]:
    """The names that out-of-tree modules add: 'sch_' for qdiscs, 'tcp_' congestion controls."""
    return _modules()[prefix]


@once
def _modules() -> dict[str, set[str]]:
    """The same, by the prefix."""
    return {
        prefix: {
            name
            for place in module_directories()
            for folder in place.glob(f"{prefix}*/")
            for name in called(folder, prefix)
        }
        for prefix in PREFIXES
    }


def called(module: Path, prefix: Literal["sch_", "tcp_"]) -> set[str]:
    """What a module, by its folder, adds: nothing where its code registers none.

    One that brings several names gives each as an alias, which the kernel asks for by name.
    """
    sources = list(module.glob("*.c"))
    if sources and not any(REGISTERS[prefix] in source.read_text() for source in sources):
        return set()
    named = {name for name in aliases(sources) if name.startswith(prefix)}
    return {name.removeprefix(prefix) for name in named or {module.name}}


def check_kind(kind: str) -> None:
    """Raise ValueError unless the lab has a queue of this kind."""
    known = KINDS.keys() | modules("sch_")
    if kind in known:
        return
    if kind in NOT_A_QUEUE:
        raise ValueError(
            f"{kind} is no queue by itself: it needs classes, filters or further commands, "
            f"which an experiment cannot give; use one of {', '.join(sorted(known))}"
        )
    raise ValueError(
        f"unknown qdisc '{kind}'{nearest(kind, known)} Use one of {', '.join(sorted(known))}, "
        "or add a module kmods/sch_<name>"
    )


def limit_unit(kind: str) -> Literal["packets", "bytes"]:
    """What a plain number as the kind's limit counts; packets for a kind from kmods/."""
    if kind == "cake":  # memlimit
        return "bytes"
    return "bytes" if KINDS.get(kind, {}).get("limit") == "bytes" else "packets"


def share_unit(kind: str, options: Mapping[str, object]) -> Literal["packets", "bytes"]:
    """What a share of the BDP becomes as an option of a kind from kmods/, whose own words are not
    known here: packets, or bytes where the kind has been told to count `bytes`."""
    return "bytes" if kind not in KINDS and options.get("bytes") is True else "packets"


def words(kind: str, option: str, value: object) -> QueueLength | list[str]:
    """One option as tc's words, or as the queue length that `tc_words` turns into a number.

    Raises ValueError when the kind has no such option or the value does not suit it.
    """
    match _type(kind, option).split("/"):
        case ["flag", *off]:
            if not isinstance(value, bool):
                raise ValueError(f"{units.shown(value)} is not true or false: {option} is a flag")
            return [option] if value else off
        case ["packets" | "bytes"]:
            return _length(value)
        case ["time"]:
            ns = units.parse_time(value)
            if ns % 1000:
                raise ValueError(f"{units.shown(value)} is finer than tc's clock: write whole us")
            return [option, units.format_time(ns)]
        case ["rate"]:
            return [option, f"{units.parse_rate(value)}bit"]
        case ["number"]:
            return [option, _number(value)]
        case ["any"] if isinstance(value, bool):
            return [option] if value else []
        case ["any"] if isinstance(value, str) and value.endswith("bdp"):
            return _length(value)
    return [option, *_text(value)]


def tc_words(kind: str, options: Mapping[str, object], link: Link) -> list[str]:
    """Options as the words that tc takes; lengths become packets or bytes of `link`."""
    found = []
    for option, value in options.items():
        read = words(kind, option, value)
        if isinstance(read, QueueLength):
            unit = _type(kind, option)
            unit = share_unit(kind, options) if unit == "any" else unit
            read = [option, str(count(read, unit, link))]
        found += read
    return found


def count(length: QueueLength, unit: str, link: Link) -> int:
    """The length in bytes when `unit` is 'bytes', else in full packets."""
    convert = units.in_bytes if unit == "bytes" else units.in_packets
    return convert(
        length, rate_bps=link.rate_bps, rtt_ns=link.rtt_ns, packet_bytes=link.packet_bytes
    )


def _type(kind: str, option: str) -> str:
    if kind not in KINDS:
        return "packets" if _word(option) == "limit" else "any"
    options = KINDS[kind]
    if option in options:
        return options[option]
    known = f"Its options: {', '.join(sorted(options))}" if options else "It takes no options"
    raise ValueError(f"{kind} has no option '{option}'{nearest(option, options)} {known}")


def _length(value: object) -> QueueLength:
    length = units.parse_length(value)
    if length.unit in ("own", "packets", "bytes") and length.amount > LARGEST_COUNT:
        raise ValueError(f"{units.shown(value)} is too long: tc counts up to {LARGEST_COUNT}")
    return length


def _number(value: object) -> str:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"{units.shown(value)} is not a number: write a plain number")
    if not 0 <= value < units.LARGEST:
        raise ValueError(f"{units.shown(value)} is out of range: write a number of 0 or more")
    return f"{value:.12f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)


def _text(value: object) -> list[str]:
    if isinstance(value, list) and value:
        return [_word(item) for item in value]
    return [_word(value)]


def _word(value: object) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise ValueError(f"{units.shown(value)} is not a word of tc: write text or a number")
    text = str(value)
    if not text or any(character.isspace() for character in text):
        raise ValueError(
            f"{units.shown(value)} is not one word: write several as a list, such as [10ms, 1ms]"
        )
    if not re.fullmatch(r"[!-~]+", text) or re.search(r"[#'\"\\]", text):
        raise ValueError(f"{units.shown(value)} has a character that no word of tc has")
    return text
