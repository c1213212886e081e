"""The reference: an experiment's keys, topologies, workloads, qdiscs and commands, as the code has them."""

import inspect
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import typer
import yaml

from sandglass.cli import app
from sandglass.experiment import offer, qdiscs, reading, topology, values, workload
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

UNITS = {
    "(ns|": "time",
    "(bit|": "rate",
    "(B|": "size",
    "(|p|bdp|": "length of a queue",
    "%": "share",
    "^net": "name of a sysctl",
}
"""What a text is whose pattern has this."""
Schema = Mapping[str, Any]


def pages() -> dict[str, str]:
    schema = reading.schema()
    return {
        EXPERIMENT: experiment(schema),
        TOPOLOGIES: topologies(),
        WORKLOADS: workloads(schema),
        QDISCS: queues(),
        CONGESTION_CONTROLS: congestion_controls(),
        COMMANDS: commands(),
    }


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """A table; what would end a cell is escaped."""
    cells = [list(head), ["---"] * len(list(head)), *map(list, rows)]
    escaped = (" | ".join(cell.replace("|", "\\|") for cell in row) for row in cells)
    return "".join(f"| {line} |\n" for line in escaped) + "\n"


def code(value: object) -> str:
    """A value as an experiment file has it."""
    written = yaml.safe_dump(value, default_flow_style=True, width=10_000, sort_keys=False)
    return f"`{written.removesuffix(chr(10)).removesuffix('...').strip()}`"


# An experiment's keys


def experiment(schema: Schema) -> str:
    parts = schema["$defs"]
    flows = {each["$ref"].rsplit("/")[-1] for each in schema["properties"]["flows"]["items"]["anyOf"]}
    own = {key for name in topology.names() for key in topology.load(name).parameters}
    text = (
        "# Keys of an experiment\n\n"
        "Every key that an experiment file may have, as the program checks it. How an experiment is "
        "written, with examples, is in [the guide](../docs/experiment.md). A text with a unit is written "
        "`100ms`, `20mbit` or `64kB`; editors that know "
        "[the JSON Schema](../docs/experiment.schema.json) complete and check keys while you type.\n\n"
        f"{keys({k: v for k, v in schema['properties'].items() if k not in own}, schema['required'])}"
        "A topology's own parameters, such as `pairs`, stand beside these: "
        "[topologies](topologies.md).\n\n"
    )
    for name, part in parts.items():
        if name not in flows and "properties" in part:
            text += f"## {name}\n\n{part.get('description', '')}\n\n"
            text += keys(part["properties"], part.get("required", []))
    return text


def keys(properties: Schema, required: Iterable[str]) -> str:
    rows = []
    for key, said in properties.items():
        examples = said.get("examples", [])
        meaning = said.get("description", "") + (f" Such as {code(examples[0])}." if examples else "")
        default = "required" if key in required else ""
        if said.get("default") is not None:
            default = code(said["default"])
        rows.append([f"`{key}`", kind(said), default, meaning])
    return table(("key", "type", "default", "meaning"), rows)


def kind(said: Schema) -> str:
    """What a value may be, in words."""
    if "$ref" in said:
        return part_link(said["$ref"].rsplit("/")[-1])
    if "anyOf" in said:
        return " or ".join(dict.fromkeys(kind(each) for each in said["anyOf"]))
    if "const" in said:
        return code(said["const"])
    if "enum" in said:
        return ", ".join(code(each) for each in said["enum"])
    if said.get("type") == "array":
        inner = kind(said.get("items", {}))
        return "list of [flows](workloads.md)" if "#bulk" in inner else f"list of {inner}"
    if said.get("type") == "object":
        inner = said.get("additionalProperties")
        return f"mapping of names to {kind(inner)}" if isinstance(inner, dict) else "mapping"
    if "pattern" in said:
        return next((word for sign, word in UNITS.items() if sign in said["pattern"]), "name")
    kinds = said.get("type", "value")
    words = {"integer": "whole number", "string": "text", "boolean": "true or false"}
    text = " or ".join(words.get(each, each) for each in ([kinds] if isinstance(kinds, str) else kinds))
    low, high = said.get("minimum"), said.get("maximum")
    if low is not None and high is not None and high < 2**32:
        return f"{text}, {low} to {high}"
    return text


def part_link(name: str) -> str:
    """To the section about a part."""
    page = "workloads" if name.lower() in workload.names() else "experiment"
    return f"[{name}]({page}.md#{name.lower()})"


# Topologies


def topologies() -> str:
    text = (
        "# Topologies\n\nThe networks that come with Sandglass, by the names that an experiment's "
        "`topology` takes, each with its parameters, which are keys of the experiment. Any file with a "
        "Mininet `Topo` class is one too: [how](../docs/experiment.md#top-level).\n\n"
    )
    for name in topology.names():
        found = topology.load(name)
        text += f"## {name}\n\n{about(found.path.read_text())}\n\n"
        if found.parameters:
            rows = [
                [f"`{key}`", each.noun, default(each.default), each.meaning]
                for key, each in found.parameters.items()
            ]
            text += table(("parameter", "type", "default", "meaning"), rows)
        text += f"Source: [topologies/{name}.py](../topologies/{name}.py)\n\n"
    return text


def about(source: str) -> str:
    """A file's docstring, whose pictures are indented, as Markdown has code."""
    found = re.match(r'(?:#.*\n)*r?"""(.*?)"""', source, re.DOTALL)
    return inspect.cleandoc(found[1].replace("\\\\", "\\")) if found else ""


def default(value: object) -> str:
    if value is topology.REQUIRED:
        return "required"
    return "" if value is None else code(value)


# Workloads


def workloads(schema: Schema) -> str:
    parts = schema["$defs"]
    names = {name: part_of(parts, name) for name in workload.names()}
    common = set.intersection(*(set(part["properties"]) for part in names.values()))
    shared = {key: said for key, said in parts["Bulk"]["properties"].items() if key in common}
    shared["workload"] = {"type": "string", "description": "Its name, below."}
    text = (
        "# Workloads\n\nWhat flows may do, by the names that a flow's `workload` takes. "
        "One of your own is a Python file: [how](../docs/workloads.md).\n\n"
        "## Keys of every flow\n\n"
        f"{keys(shared, ('workload', 'from', 'to'))}"
    )
    for name, part in names.items():
        found = workload.ours(name)
        text += f"## {found.usage}\n\n{about(found.path.read_text())}\n\n"
        own = {key: said for key, said in part["properties"].items() if key not in common}
        if own:
            text += keys(own, part["required"])
        for title, columns in {"run.json and flows.parquet": found.columns, **tables(found)}.items():
            if columns:
                text += f"What it adds to `{title}`:\n\n"
                rows = [[f"`{c}`", each.type, each.unit, each.meaning] for c, each in columns.items()]
                text += table(("column", "type", "unit", "meaning"), rows)
        text += f"Source: [workloads/{name}.py](../workloads/{name}.py)\n\n"
    return text


def part_of(parts: Schema, name: str) -> Schema:
    return next(part for key, part in parts.items() if key.lower() == name)


def tables(found: workload.Workload) -> dict[str, Any]:
    return {f"{name}.parquet": columns for name, columns in {**found.parts, **found.tables}.items()}


# Queues and congestion controls


def queues() -> str:
    text = (
        "# Queues\n\nKinds that a `queue` may have: Linux's own, with the options that their tc plugins "
        "take, and those of Sandglass's modules, which have pages of their own. What is left out is the "
        "kernel's default; `run.json` has what it was.\n\n"
        "```yaml\nqueue: {kind: codel, limit: 1000, target: 5ms, ecn: true}\n```\n\n## Linux's own\n\n"
    )
    rows = [
        [f"`{name}`", ", ".join(f"`{option}` ({kind.split('/')[0]})" for option, kind in options.items())]
        for name, options in sorted(qdiscs.KINDS.items())
    ]
    return text + table(("kind", "options"), rows) + "## Modules\n\n" + modules("sch_")


def congestion_controls() -> str:
    text = (
        "# Congestion controls\n\nWhat a flow's `cc` may be: Linux's own, and those of Sandglass's modules, "
        "which have pages of their own.\n\n```yaml\n"
        "flows:\n  - {workload: bulk, from: s1, to: d1, cc: cubic, ecn: true}\n```\n\n## Linux's own\n\n"
    )
    return (
        text
        + ", ".join(f"`{name}`" for name in sorted(values.CONGESTION_CONTROLS))
        + ". Those that only one end needs to know may be set per flow.\n\n## Modules\n\n"
        + modules("tcp_")
    )


def modules(prefix: Any) -> str:
    rows = []
    for folder in module_directories():
        for module in sorted(folder.glob(f"{prefix}*/")):
            for name in sorted(qdiscs.called(module, prefix)):
                path = module.relative_to(ROOT)
                rows.append([f"`{name}`", offer.about_module(module), f"[{path.name}](../{path}/README.md)"])
    return table(("name", "what it is", "page"), rows)


# Commands


def commands() -> str:
    group = typer.main.get_command(app)
    text = (
        "# Commands\n\nEvery command, as its `--help` has it. All are given as `./sandglass COMMAND` in the "
        "checkout, or by the path of `sandglass` from anywhere.\n\n"
    )
    return text + "".join(described(name, command) for name, command in named(group))


def named(command: Any, before: str = "") -> Iterator[tuple[str, Any]]:
    """A command's commands, and theirs."""
    for name, each in command.commands.items():
        if hasattr(each, "commands"):
            yield from named(each, f"{before}{name} ")
        else:
            yield f"{before}{name}", each


def described(name: str, command: Any) -> str:
    help_text, _, example = (command.help or "").partition("Example: ")
    words = [f"./sandglass {name}"]
    options = []
    for each in command.params:
        if each.param_type_name == "argument":
            words.append(each.make_metavar() if not each.metavar else each.metavar)
        else:
            options.append(each)
    usage = " ".join([words[0], *(["[OPTIONS]"] if options else []), *words[1:]])
    text = f"## {name}\n\n```\n{usage}\n```\n\n{inspect.cleandoc(help_text)}\n\n"
    if options:
        text += table(("option", "default", "meaning"), [option(each) for each in options])
    return text + (f"Example:\n\n```\n{example.strip()}\n```\n\n" if example else "")


def option(each: Any) -> list[str]:
    names = ", ".join(f"`{name}`" for name in each.opts)
    if each.metavar and not each.is_flag:
        names += f" `{each.metavar}`"
    value = each.default if not callable(each.default) else None
    shown = "" if value in (None, False) or each.is_flag else code(getattr(value, "value", value))
    return [names, shown, each.help or ""]
