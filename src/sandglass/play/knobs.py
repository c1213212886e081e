"""Knobs of an experiment: what its file says, and a few things that it leaves to their defaults.

They come from the schema of the experiment file. So any file has them, with its own topology, own
workloads and own modules. A page may set these keys and no other, to a number, a quantity or a
name: nothing of it is ever a path.
"""

import functools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeGuard

from sandglass.errors import UsageError
from sandglass.experiment import (
    document,
    mainline,
    module_options,
    qdiscs,
    reading,
    topology,
    units,
    values,
    workload,
)
from sandglass.experiment.flow import model
from sandglass.guide import offer
from sandglass.install import builds
from sandglass.play import steps

NO_KNOBS = ("title", "topology", "record", "memory", "lab", "base")
"""Keys that change what is looked at, not what happens; and queues, which are one knob each."""
LINK, RUN, MORE = "Link", "Run", "More"
IN_GROUPS = {
    LINK: ("bottleneck.rate", "rtt", "bottleneck.reverse.rate", "bottleneck.queue"),
    RUN: ("duration", "repeat", "seed"),
}
"""Keys whose knobs stand together, in this order; flows have groups of their own."""
NAMES = {
    "bottleneck.rate": "Rate",
    "bottleneck.reverse.rate": "Rate back",
    "rtt": "Round trip",
    "duration": "Duration",
    "repeat": "Repetitions",
    "seed": "Seed",
    "cc": "Sender",
    "count": "Number of flows",
    "ecn": "ECN",
    "size": "Size",
    "start": "Start",
    "interval": "Interval",
    "rate": "Rate",
}
"""What keys are called, by their whole paths, or of flows by their last parts."""
ALWAYS = {"cc": "cubic", "ecn": False, "count": 1}
"""Keys of a flow that have a knob though the file leaves them out, and what they are then."""
LEFT_OUT = ("workload", "from", "to", "family", "duration")
"""Keys of a flow without one; its duration follows the experiment's where both end together."""
USUAL = ("pfifo", "codel", "fq_codel", "pie", "cake", "red", "dualpi2")
"""Queues that stand first among all."""
HARMLESS = re.compile(r"[\w.+%-][\w.+% -]{0,59}")
"""A text that a page may set: a quantity or a name. It holds no separator, so it is no path."""
UNITS = {"bdp": "length", "kbit": "rate", "kB": "size", "ms": "time", "%": "share"}
"""What the schema's pattern of a quantity has in it, and what the quantity is."""


@dataclass(frozen=True)
class Knob:
    """Something of an experiment that can be turned."""

    key: str
    """Its path, as `--set` has it."""
    name: str
    group: str
    form: str
    """queue, choice, flag, seed, or one of those of `steps`."""
    value: Any
    """What the file has."""
    about: str = ""
    steps: Sequence[Any] = ()
    """Where a slider stops; empty: there is none."""
    choices: Sequence[str] = ()
    also: Sequence[str] = ()
    """Keys that are set with it, to the same."""


def of(data: Mapping[str, Any], beside: Path) -> list[Knob]:
    """The knobs of what an experiment's file holds; paths in it are relative to `beside`."""
    schema = reading_schema()
    found = [*_queues(data)]
    for key, value in data.items():
        if key == "flows" and isinstance(value, list):
            for numbers in _alike(value):
                found += _flow(numbers, value, beside)
        else:
            part = schema["properties"].get(key) or _parameter(data, key, beside)
            found += _leaves(key, value, part, schema)
    if not any(knob.key == "seed" for knob in found):
        found.append(Knob("seed", NAMES["seed"], RUN, "seed", 1))
    lasting = [*_as_long(data)]
    whole = [replace(knob, also=lasting) if knob.key == "duration" else knob for knob in found]
    groups = [LINK, *dict.fromkeys(knob.group for knob in found if knob.group not in LAST), *LAST]
    known = [key for keys in IN_GROUPS.values() for key in keys]

    def place(knob: Knob) -> tuple[int, int]:
        return groups.index(knob.group), known.index(knob.key) if knob.key in known else 0

    return sorted(whole, key=place)


LAST = (RUN, MORE)


@functools.cache
def reading_schema() -> dict[str, Any]:
    """The experiment file's, which takes a while to make."""
    return reading.schema()


def _as_long(data: Mapping[str, Any]) -> Iterator[str]:
    """The durations of flows that begin and end with the experiment."""
    flows = data.get("flows")
    for number, flow in enumerate(flows if isinstance(flows, list) else ()):
        lasts = flow.get("duration") if isinstance(flow, dict) else None
        begins = flow.get("start", "0s") if isinstance(flow, dict) else None
        try:
            whole = lasts and units.parse_time(lasts) == units.parse_time(data.get("duration"))
            if whole and units.parse_time(begins) == 0:
                yield f"flows.{number}.duration"
        except ValueError:  # `check` says what is wrong
            continue


def _queues(data: Mapping[str, Any]) -> Iterator[Knob]:
    """The queues of bottlenecks and links: a knob each, for the kind and its options."""
    places: dict[str, Any] = {"bottleneck": data.get("bottleneck")}
    for key in ("bottlenecks", "links"):
        each = data.get(key)
        places |= {f"{key}.{name}": part for name, part in each.items()} if _mapping(each) else {}
    for place, part in places.items():
        for way in ("", "reverse."):
            inner = part.get("reverse") if _mapping(part) and way else part
            queue = inner.get("queue") if _mapping(inner) else None
            if _mapping(queue) and isinstance(queue.get("kind"), str):
                key = f"{place}.{way}queue"
                main = key == "bottleneck.queue"
                name = "Queue" if main else key.replace(".", " ")
                yield Knob(key, name, LINK if main else MORE, "queue", dict(queue))


def _mapping(value: Any) -> TypeGuard[dict[str, Any]]:
    return isinstance(value, dict)


def _alike(flows: Sequence[Any]) -> list[list[int]]:
    """The numbers of entries of `flows`, those together that differ in their ends alone."""
    found: dict[str, list[int]] = {}
    for number, flow in enumerate(flows):
        rest = {k: flow[k] for k in flow if k not in ("from", "to")} if _mapping(flow) else flow
        found.setdefault(repr(rest), []).append(number)
    return [*found.values()]


def _flow(numbers: Sequence[int], flows: Sequence[Any], beside: Path) -> Iterator[Knob]:
    """The knobs of entries of `flows` that are alike."""
    number, *others = numbers
    flow = flows[number]
    if not _mapping(flow):
        return
    try:
        kind = model(workload.find(str(flow.get("workload")), beside))
    except ValueError:
        return
    schema = _schema_of(kind)
    last = flows[numbers[-1]]
    ends = (_ends([flow.get(end), last.get(end)]) for end in ("from", "to"))
    group = f"{number + 1}: {flow['workload']} {' → '.join(ends)}"
    for key, part in schema["properties"].items():
        if key in LEFT_OUT or (key not in flow and key not in ALWAYS):
            continue
        value = flow.get(key, ALWAYS.get(key))
        for knob in _leaves(f"flows.{number}.{key}", value, part, schema):
            inner = knob.key.split(".", 2)[2]
            name = NAMES.get(inner) or inner.replace(".", " ").replace("_", " ")
            also = [f"flows.{other}.{inner}" for other in others]
            yield replace(knob, group=group, name=name, also=also)


@functools.cache
def _schema_of(kind: type[Any]) -> dict[str, Any]:
    found: dict[str, Any] = kind.model_json_schema(by_alias=True)
    return found


def _ends(named: Sequence[Any]) -> str:
    """Hosts in a word or three."""
    first, last = (
        each[place] if isinstance(each, list) and each else each
        for each, place in zip(named, (0, -1), strict=True)
    )
    return str(first) if first == last else f"{first} … {last}"


def _parameter(data: Mapping[str, Any], key: str, beside: Path) -> dict[str, Any]:
    """What the schema would say of a parameter of a topology of one's own; empty of none."""
    name = str(data.get("topology"))
    try:
        found = topology.load(str(beside / name) if name.endswith(".py") else name)
    except UsageError:
        return {}
    if key not in found.parameters:
        return {}
    each = found.parameters[key]
    kind = reading.JSON_TYPES[each.kinds[0]]
    return {"type": kind, "description": each.meaning}


def _leaves(
    path: str, value: Any, part: Mapping[str, Any], schema: Mapping[str, Any]
) -> Iterator[Knob]:
    """A knob for each value in a part of a file that can be turned."""
    if path in NO_KNOBS or path.endswith(".queue"):
        return
    part = _resolved(part, schema, value)
    if _mapping(value):
        for key, inner in value.items():
            known = part.get("properties", {}).get(key) or part.get("additionalProperties")
            if isinstance(key, str) and _mapping(known):
                yield from _leaves(f"{path}.{key}", inner, known, schema)
        return
    if isinstance(value, list):
        if _mapping(items := part.get("items")) and path.endswith("schedule"):
            for number, inner in enumerate(value):
                yield from _leaves(f"{path}.{number}", inner, items, schema)
        return
    yield from _leaf(path, value, part)


def _resolved(part: Mapping[str, Any], schema: Mapping[str, Any], value: Any) -> Mapping[str, Any]:
    """A part of the schema without references, and of several the one that suits the value."""
    described = {key: part[key] for key in ("description",) if key in part}
    while "$ref" in part:
        part = schema["$defs"][part["$ref"].rpartition("/")[2]]
    for each in part.get("anyOf", ()):
        other = _resolved(each, schema, value)
        if ("properties" in other) == _mapping(value) and (_mapping(value) or _form(other, value)):
            return {**other, **described}
    return {**part, **described}


def _leaf(path: str, value: Any, part: Mapping[str, Any]) -> Iterator[Knob]:
    """The knob of a single value; none of what is text, such as a path."""
    last = path.rpartition(".")[2]
    name = NAMES.get(path) or path.replace(".", " ").replace("_", " ")
    group = next((group for group, keys in IN_GROUPS.items() if path in keys), MORE)
    about = part.get("description", "")
    if sysctl := _sysctl(path):
        host = path.split(".")[1]
        told = f"{sysctl.meaning} ({sysctl.unit})" if sysctl.unit else sysctl.meaning
        name, about = f"{sysctl.name.rpartition('.')[2]} of {host}", told
        if re.fullmatch(r"\d+", str(value)):
            bounds = [int(each) if str(each).isdecimal() else None for each in
                      (sysctl.least, sysctl.most)]  # fmt: skip
            where = steps.of("whole", int(value), *bounds)
            yield Knob(path, name, group, "whole", int(value), about, where)
        return
    if last in ("cc", "tcp_congestion_control"):
        yield Knob(path, name, group, "choice", value, about, choices=_senders())
        return
    if path == "seed":
        yield Knob(path, name, group, "seed", value, about)
        return
    form = _form(part, value)
    if form is not None:
        bounds = [part.get("minimum"), part.get("maximum")]
        yield Knob(path, name, group, form, value, about, steps.of(form, value, *bounds))


def _sysctl(path: str) -> Any:
    """What a module says of the sysctl at the end of a path; None of others."""
    _, _, name = path.partition(".sysctls.")
    known = (sysctl for module in builds.described() for sysctl in module.sysctl)
    return next((sysctl for sysctl in known if sysctl.name == name), None) if name else None


def _form(part: Mapping[str, Any], value: Any) -> str | None:
    """What a value is by the schema; None of what has no knob."""
    if isinstance(value, bool):
        return "flag" if "boolean" in _types(part) else None
    if isinstance(value, int | float) and {"integer", "number"} & set(_types(part)):
        return "whole" if isinstance(value, int) else "number"
    if isinstance(value, int) and "bdp" in part.get("pattern", ""):
        return "length"
    if isinstance(value, str) and "pattern" in part:
        return next((form for unit, form in UNITS.items() if unit in part["pattern"]), None)
    return None


def _types(part: Mapping[str, Any]) -> list[str]:
    named = part.get("type", [])
    return named if isinstance(named, list) else [named]


def _senders() -> list[str]:
    first = ["cubic", "reno", "bbr", "dctcp"]
    known = values.CONGESTION_CONTROLS | qdiscs.modules("tcp_")
    return [*first, *sorted(known - set(first))]


def catalogue() -> dict[str, Any]:
    """Each kind of queue: what it is, and its options with their forms, defaults and steps."""
    kinds = [*USUAL, *sorted({*qdiscs.KINDS, *qdiscs.modules("sch_")} - set(USUAL) - NO_QUEUES)]
    return {kind: _kind(kind) for kind in kinds}


NO_QUEUES = frozenset(("trace", "noise"))
"""Modules that an experiment has by other keys."""


def _kind(kind: str) -> dict[str, Any]:
    if kind not in qdiscs.KINDS:
        return _module(kind)
    usual = mainline.DEFAULTS.get(kind, {})
    options = []
    for option, told in qdiscs.KINDS[kind].items():
        form = steps.OF_OPTIONS[told.partition("/")[0]]
        default = usual.get(option, "")
        switched = form == "flag" and default in ("", "yes", "no")
        options.append(
            {
                "name": option,
                "form": form,
                "default": default if form != "flag" else default == "yes" if switched else False,
                "steps": steps.of_default(form, default),
            }
        )
    needed = NEEDED.get(kind, {})
    return {"about": mainline.QDISCS[kind], "options": options, "needed": needed}


NEEDED = {"red": {"limit": "4bdp", "avpkt": 1500}, "choke": {"limit": 1000, "bandwidth": "10mbit"}}
"""What a kind must be told, when it is chosen."""


def _module(kind: str) -> dict[str, Any]:
    """A kind from kmods/, as its page has it."""
    folder = next(
        folder
        for place in builds.module_directories()
        for folder in sorted(place.glob("sch_*/"))
        if kind in qdiscs.called(folder, "sch_")
    )
    options = []
    for row in module_options.options(folder):
        for name in row.names:
            flag = row.default in ("on", "off")
            default: Any = row.default == "on" if flag else _plain(row.default)
            form = "flag" if flag else steps.form_of(default)
            told = {"name": name, "form": form, "default": default, "about": row.meaning}
            options.append({**told, "steps": steps.of_default(form, default)})
    return {"about": offer.about_module(folder), "options": options, "needed": {}}


def _plain(default: str) -> str:
    """A default as one would write it: 20 ms as 20ms."""
    return re.sub(r"^([\d.]+) (ms|us|s)$", r"\1\2", default)


def allowed(settings: Sequence[str], knobs: Sequence[Knob]) -> list[str]:
    """Settings of a page, as `--set` takes them.

    Raises UsageError for one that is of no knob, or more than a number, a quantity or a name.
    """
    by_key = {knob.key: knob for knob in knobs}
    plain = {key for knob in knobs for key in (knob.key, *knob.also)}
    for text in settings:
        key, _, written = text.partition("=")
        value = document.value(written, f"--set {text}")
        whole = by_key[key].form == "queue" if key in by_key else False
        if whole and _mapping(value):
            fine = all(_harmless(name) and _harmless(each) for name, each in value.items())
        else:
            outer, _, option = key.rpartition(".")
            of_queue = outer in by_key and by_key[outer].form == "queue" and _harmless(option)
            fine = ((key in plain and not whole) or of_queue) and _harmless(value)
        if not fine:
            raise UsageError(f"--set {text}: a page may not set that")
    return list(settings)


def _harmless(value: Any) -> bool:
    if isinstance(value, str):
        return HARMLESS.fullmatch(value) is not None
    if isinstance(value, list):  # of words of tc's
        return all(isinstance(each, str | int | float) and _harmless(each) for each in value)
    return isinstance(value, bool | int | float)
