"""The reference: keys, topologies, workloads, queues and commands, as the code has them."""

import inspect
import re
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

import typer

from docs.site import render
from sandglass.cli import app
from sandglass.experiment import qdiscs, reading, topology, values, workload
from sandglass.guide import offer
from sandglass.install.builds import ROOT, module_directories

EXPERIMENT = "reference/experiment.md"
TOPOLOGIES = "reference/topologies.md"
WORKLOADS = "reference/workloads.md"
QDISCS = "reference/qdiscs.md"
CONGESTION_CONTROLS = "reference/congestion-controls.md"
COMMANDS = "reference/commands.md"
NAV = [
    {"Keys of an experiment": EXPERIMENT},
    {"Topologies": TOPOLOGIES},
    {"Workloads": WORKLOADS},
    {"Queues": QDISCS},
    {"Congestion controls": CONGESTION_CONTROLS},
    {"Commands": COMMANDS},
]

PATTERNS = {
    "(ns|": "time",
    "(bit|": "rate",
    "(B|": "size",
    "(|p|bdp|": "length of a queue",
    "%": "share",
    "^net": "name of a sysctl",
}
"""What a text is whose pattern has this."""
WORDS = {"integer": "whole number", "string": "text", "boolean": "true or false"}
"""JSON's types."""
LARGEST_BOUND = 10**9
"""A larger one tells nobody anything."""
RESULTS = "run.json and flows.parquet"
Schema = Mapping[str, Any]
Key = dict[str, str]
"""A row of a table of keys: name, type, default, meaning."""


def pages() -> dict[str, str]:
    """All pages of the reference, by their paths on the site."""
    schema = reading.schema()
    return {
        EXPERIMENT: experiment(schema),
        TOPOLOGIES: topologies(),
        WORKLOADS: workloads(schema),
        QDISCS: render.page("qdiscs", kinds=kinds(), modules=modules("sch_")),
        CONGESTION_CONTROLS: render.page(
            "congestion-controls",
            mainline=sorted(values.CONGESTION_CONTROLS),
            modules=modules("tcp_"),
        ),
        COMMANDS: render.page("commands", commands=[*commands(typer.main.get_command(app))]),
    }


def experiment(schema: Schema) -> str:
    of_topologies = {key for name in topology.names() for key in topology.load(name).parameters}
    of_flows = {*workload.names(), "elsewhere"}
    top = {key: said for key, said in schema["properties"].items() if key not in of_topologies}
    parts = [
        {
            "title": in_words(name).capitalize(),
            "description": part.get("description", ""),
            "keys": keys(part),
        }
        for name, part in schema["$defs"].items()
        if name.lower() not in of_flows and "properties" in part
    ]
    return render.page("experiment", top=keys({**schema, "properties": top}), parts=parts)


def topologies() -> str:
    described = []
    for name in topology.names():
        found = topology.load(name)
        parameters = [
            {
                "name": key,
                "type": each.noun,
                "default": default(each.default),
                "meaning": each.meaning,
            }
            for key, each in found.parameters.items()
        ]
        described.append({"name": name, "about": about(found.path), "parameters": parameters})
    return render.page("topologies", topologies=described)


def default(value: object) -> str:
    if value is topology.REQUIRED:
        return "required"
    return "" if value is None else render.code(value)


def workloads(schema: Schema) -> str:
    parts = {name.lower(): part for name, part in schema["$defs"].items()}
    ours = workload.names()
    common = set.intersection(*(set(parts[name]["properties"]) for name in ours))
    described = []
    for name in ours:
        found = workload.ours(name)
        tables = {RESULTS: found.columns}
        further = {**found.parts, **found.tables}
        tables |= {f"{title}.parquet": columns for title, columns in further.items()}
        described.append(
            {
                "name": name,
                "usage": found.usage,
                "about": about(found.path),
                "keys": keys(parts[name], but=common),
                "tables": {title: columns for title, columns in tables.items() if columns},
            }
        )
    shared = keys(parts["bulk"], but=set(parts["bulk"]["properties"]) - common)
    shared[0] |= {"type": "text", "meaning": "What it does: a name below, or the path of a file."}
    return render.page("workloads", common=shared, workloads=described)


def about(file: Path) -> str:
    """A file's docstring. Its pictures are indented, which is how Markdown has code."""
    found = re.match(r'(?:#.*\n)*r?"""(.*?)"""', file.read_text(), re.DOTALL)
    return inspect.cleandoc(found[1].replace("\\\\", "\\")) if found else ""


def keys(part: Schema, but: Collection[str] = ()) -> list[Key]:
    """The keys of a part of the schema."""
    return [
        {"name": key, "type": kind(said), "default": _default(key, part), "meaning": _meaning(said)}
        for key, said in part["properties"].items()
        if key not in but
    ]


def _default(key: str, part: Schema) -> str:
    if key in part.get("required", ()):
        return "required"
    return default(part["properties"][key].get("default"))


def _meaning(said: Schema) -> str:
    meaning = str(said.get("description", ""))
    if examples := said.get("examples"):
        meaning += f" Such as {render.code(examples[0])}."
    return meaning


def kind(said: Schema) -> str:
    """What a value may be, in words."""
    if "$ref" in said:
        return part_link(said["$ref"].rpartition("/")[2])
    if "anyOf" in said:
        return " or ".join(dict.fromkeys(map(kind, said["anyOf"])))
    if "const" in said:
        return render.code(said["const"])
    if "enum" in said:
        return ", ".join(map(render.code, said["enum"]))
    if said.get("type") == "array":
        inner = kind(said.get("items", {}))
        return "list of [flows](workloads.md)" if "workloads.md" in inner else f"list of {inner}"
    if said.get("type") == "object":
        each = said.get("additionalProperties")
        return f"{kind(each)} by name" if isinstance(each, dict) else "mapping"
    if "pattern" in said:
        pattern = str(said["pattern"])
        return next((noun for sign, noun in PATTERNS.items() if sign in pattern), "name")
    named = said.get("type", "value")
    several: list[str] = [named] if isinstance(named, str) else named
    words = " or ".join(WORDS.get(each, each) for each in several)
    least, most = said.get("minimum"), said.get("maximum")
    bounded = least is not None and most is not None and most < LARGEST_BOUND
    return f"{words}, {least} to {most}" if bounded else words


def part_link(name: str) -> str:
    """To the section about a part."""
    page = "workloads" if name.lower() in workload.names() else "experiment"
    words = in_words(name)
    return f"[{words}]({page}.md#{words.replace(' ', '-')})"


def in_words(name: str) -> str:
    """What a class is called: LinkSettings, link settings."""
    return re.sub(r"(?<!^)(?=[A-Z])", " ", name).lower()


def kinds() -> dict[str, dict[str, str]]:
    """Linux's own queues: the options of each, with what they are."""
    return {
        kind: {option: said.partition("/")[0] for option, said in options.items()}
        for kind, options in sorted(qdiscs.KINDS.items())
    }


def modules(prefix: Literal["sch_", "tcp_"]) -> list[tuple[str, str, Path]]:
    """What our modules add: name, what it is, and the module's folder in the checkout."""
    return [
        (name, offer.about_module(module), module.relative_to(ROOT))
        for folder in module_directories()
        if folder.is_relative_to(ROOT)
        for module in sorted(folder.glob(f"{prefix}*/"))
        for name in sorted(qdiscs.called(module, prefix))
    ]


def commands(group: Any, before: str = "") -> Iterator[dict[str, Any]]:
    """The commands of a group of typer's, and those of groups in it."""
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, f"{before}{name} ")
            continue
        context = command.make_context(name, [], resilient_parsing=True)
        said, _, example = inspect.cleandoc(command.help or "").partition("Example: ")
        options = [each for each in command.params if each.param_type_name == "option"]
        words = ["./sandglass", f"{before}{name}", *command.collect_usage_pieces(context)]
        yield {
            "name": f"{before}{name}",
            "usage": " ".join(words),
            "about": said.strip(),
            "options": [each.get_help_record(context) for each in options],
            "example": example.strip(),
        }
