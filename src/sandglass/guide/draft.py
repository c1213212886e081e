"""A new experiment file: of a few answers, or of an example."""

import re
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from pydantic import TypeAdapter, ValidationError

from sandglass.errors import UsageError, nearest
from sandglass.experiment import qdiscs, reading, topology, units, values
from sandglass.experiment.document import EXAMPLES
from sandglass.experiment.problems import PartError
from sandglass.install.builds import ROOT

MOST_FLOWS = 50
COMMENTS = 32
"""The column where they begin."""
NEEDED: dict[str, dict[str, Any]] = {
    "red": {"limit": "2bdp", "avpkt": "1500B"},
    "choke": {"limit": 1000},
}
"""Options without which tc refuses a kind; choke also wants the rate."""


@dataclass(frozen=True)
class Question:
    """What is asked, what is taken without an answer, and what is wrong with one."""

    text: str
    default: str
    check: Callable[[str], object]
    """Raises ValueError, with what to write instead."""


def _is(kind: Any) -> Callable[[str], object]:
    return TypeAdapter(kind).validate_python


def _topology(name: str) -> None:
    try:
        facts = topology.load(name).facts({})
    except UsageError as error:
        raise ValueError(f"{error.message} {error.hint or ''}") from None
    if not facts.bottlenecks:
        raise ValueError(f"{name} names no bottleneck: begin with an example, by --from")


def _count(text: str) -> None:
    if not text.isdecimal() or not 1 <= int(text) <= MOST_FLOWS:
        raise ValueError(f"{units.shown(text)} is no number of flows: write 1 to {MOST_FLOWS}")


def _congestion_controls(text: str) -> None:
    for name in text.split(","):
        _is(values.CongestionControl)(name.strip())


def _queue(kind: str) -> None:
    _is(values.Kind)(kind)


QUESTIONS = {
    "topology": Question("Topology (list topologies)", "dumbbell", _topology),
    "rate": Question("Rate of the bottleneck", "20mbit", _is(values.LinkRate)),
    "rtt": Question("Base round trip", "50ms", _is(values.Time)),
    "queue": Question("Queue before it (list qdiscs)", "codel", _queue),
    "flows": Question("How many bulk flows", "2", _count),
    "cc": Question("Congestion control, or one for each: cubic,bbr", "cubic", _congestion_controls),
    "duration": Question("How long", "30s", _is(values.Duration)),
}


def problem(name: str, answer: str) -> str | None:
    """What is wrong with an answer, or None."""
    try:
        QUESTIONS[name].check(answer)
    except ValidationError as error:
        return str(error.errors()[0]["msg"]).removeprefix("Value error, ")
    except (ValueError, PartError) as error:
        return str(error)
    return None


def written(answers: Mapping[str, str], file: Path) -> str:
    """The experiment file of answers to all QUESTIONS, none of which is a `problem`.

    Raises UsageError when they do not go together.
    """
    number = int(answers["flows"])
    controls = [name.strip() for name in answers["cc"].split(",")]
    each = [controls[index % len(controls)] for index in range(number)]
    name, kind = answers["topology"], answers["queue"]
    params, pairs = _ends(name, number)
    ecn = [cc in values.protocols_of_both_ends() for cc in each]
    queue: dict[str, Any] = {"kind": kind, **NEEDED.get(kind, {})}
    if kind == "choke":
        queue["bandwidth"] = answers["rate"]
    if any(ecn) and "ecn" in qdiscs.KINDS.get(kind, {}):
        queue["ecn"] = True
    plural = "s" if number > 1 else ""
    lines = [
        f"# yaml-language-server: $schema={_schema(file)}",
        "# Every key: docs/experiment.md. What would be run: ./sandglass check, then run.",
        f"title: {number} {' and '.join(dict.fromkeys(each))} flow{plural} through {kind}",
        _line(f"topology: {name}", "list topologies has others"),
        *(_line(f"{key}: {value}", f"list topologies {name}") for key, value in params.items()),
        _line(f"rtt: {answers['rtt']}", "base round trip, half in each direction"),
        "bottleneck:",
        _line(f"  rate: {answers['rate']}", "counts bytes on the wire"),
        _line(f"  queue: {_flow_style(queue)}", f"list qdiscs {kind} has its options"),
        "flows:",
    ]
    for (src, dst), cc, marked in zip(pairs, each, ecn, strict=True):
        flow = {"workload": "bulk", "from": src, "to": dst, "cc": cc}
        lines.append(f"  - {_flow_style(flow | ({'ecn': True} if marked else {}))}")
    lines += [
        _line(f"duration: {answers['duration']}", "virtual time"),
        _line("seed: 1", "everything random comes from it"),
    ]
    text = "\n".join(lines) + "\n"
    reading.parse(yaml.safe_load(text), file)
    return text


def _ends(name: str, number: int) -> tuple[dict[str, int], list[tuple[str, str]]]:
    """Parameters with which a topology has room for so many flows, and the flows' ends."""
    found = topology.load(name)
    sizes = {"pairs": number, "hops": max(2, number - 1), "arms": max(2, number + 1)}
    params = {key: size for key, size in sizes.items() if key in found.parameters}
    facts = found.facts(params)
    if pairs := [(host, facts.partner[host]) for host in facts.hosts if host in facts.partner]:
        pairs = [(src, dst) for src, dst in pairs if src.startswith("s")]
    else:
        pairs = [(host, facts.hosts[-1]) for host in facts.hosts[:-1]]
    return params, [pairs[index % len(pairs)] for index in range(number)]


def _line(text: str, comment: str) -> str:
    return f"{text:{COMMENTS - 1}} # {comment}"


def _flow_style(mapping: Mapping[str, object]) -> str:
    text = yaml.safe_dump(mapping, default_flow_style=True, sort_keys=False, width=1000)
    return text.strip()


def _schema(file: Path) -> str:
    """The JSON Schema, which is written where it is not, as seen from a file."""
    reading.publish()
    folder = file.absolute().parent
    if folder.is_relative_to(ROOT):
        up = "../" * len(folder.relative_to(ROOT).parts)
        return f"{up}{reading.SCHEMA.relative_to(ROOT)}"
    return str(reading.SCHEMA)


def example(name: str, file: Path) -> str:
    """The text of an example, by its name or path, for a file at another place.

    Programs that lie beside it are laid beside that file, unless they are there.

    Raises UsageError when there is none, naming the nearest, or when another program is there.
    """
    known = {path.stem: path for path in sorted(EXAMPLES.glob("*.yaml"))}
    there = [Path(name), ROOT / name]
    path = known.get(name) or next((each for each in there if each.is_file()), Path(name))
    if not path.is_file():
        raise UsageError(
            f"there is no example {name}{nearest(name, known)}", f"There are {', '.join(known)}."
        )
    text = re.sub(
        r"^(# yaml-language-server: \$schema=).*$",
        rf"\1{_schema(file)}",
        path.read_text(),
        flags=re.M,
    )
    for own_name, own in reading.load(path).own_files.items():
        target = file.parent / own_name
        if own_name.startswith("../"):  # above the folder nothing is laid
            continue
        if not target.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(own.path, target)
        elif target.read_bytes() != own.path.read_bytes():
            raise UsageError(f"{target} is there already, and another", "Choose another folder.")
    reading.parse(yaml.safe_load(text), file)  # what it names by paths must be found from there
    return text
