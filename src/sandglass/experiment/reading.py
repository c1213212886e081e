"""The experiment file: YAML with units, read into plain numbers, or refused with reasons.

`load` reads a file. What is wrong with it is gathered and reported at once, a line per problem,
each with the file, its line and the path of the key. `schema` is the JSON Schema of the file.
"""

import contextlib
import itertools
import json
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any, Union

from pydantic import TypeAdapter, ValidationError, create_model

from sandglass.errors import UsageError, nearest
from sandglass.experiment import document, foreign, loading, topology, units, workload
from sandglass.experiment.agreement import disagreements
from sandglass.experiment.bottleneck import BottleneckOverride
from sandglass.experiment.document import Document, Override
from sandglass.experiment.experiment import Experiment
from sandglass.experiment.flow import Elsewhere, Flow, model
from sandglass.experiment.host_settings import HostSettings
from sandglass.experiment.link import LinkSettings
from sandglass.experiment.problems import (
    EMPTY,
    KeyPath,
    Problem,
    explain,
    missing,
    where,
)
from sandglass.experiment.topology import TopologyFacts
from sandglass.experiment.trace import BESIDE
from sandglass.experiment.values import LONGEST_TITLE
from sandglass.install import builds
from sandglass.install.builds import ROOT
from sandglass.terminal import shown

SCHEMA = ROOT / "docs" / "experiment.schema.json"
"""Where editors find the schema, once something has written it."""
MOST_TOLD = 15
"""Problems of one file; the rest often comes of these."""
UNTITLED = ("seed", "record")
"""Keys that make no other experiment: what is set of them is no part of the title."""
MAPPED = {"hosts": HostSettings, "bottlenecks": BottleneckOverride, "links": LinkSettings}
"""Keys whose values are parts by names of the topology."""
BASE_SCHEMA = {
    "type": ["string", "array"],
    "items": {"type": "string"},
    "description": "A file beside this one, or some, whose keys hold where this one has none.",
}
IN_PARTS = ("Bottleneck", "Queue")
"""Models of which a file and its base may have a part each."""
WITH = ", with "
"""Between an experiment's title and what was set."""
JSON_TYPES = {"int": "integer", "float": "number", "str": "string", "bool": "boolean"}


def load(
    path: str | Path,
    overrides: Iterable[Override] = (),
    seed: int | None = None,
    *,
    in_lab: bool = True,
) -> Experiment:
    """Read an experiment file, with overrides of its keys and, if given, another seed.

    What is set becomes part of the title, unless the title is: it is another experiment. What the
    user's own programs lack in the lab is of no concern to one that is not to run `in_lab`.

    Raises UsageError, which lists everything that is wrong, a line each.
    """
    path = Path(path)
    overrides = [*overrides]
    found = document.read(path)
    if "experiment" in found.data and "flows" not in found.data:
        hint = f"Do it: ./sandglass study {shown(path)}"
        raise UsageError(f"{path}: is a study, an experiment varied", hint)
    if "runs" in found.data and "flows" not in found.data:
        hint = f"Do it: ./sandglass study {shown(path)}"
        raise UsageError(f"{path}: is a figure of a paper", hint)
    changed = {document.override(found.data, text, path): "--set" for text in overrides}
    title = found.data.get("title", path.stem)
    if isinstance(title, str) and ("title",) not in changed:
        room = LONGEST_TITLE - len(title) - len(WITH)
        found.data["title"] = WITH.join([title, *filter(None, [_changes(overrides, room)])])
    if seed is not None:
        found.data["seed"] = seed
        changed[("seed",)] = "--seed"
    return parse(
        found.data, path, lambda problem: line(path, problem, found, changed), in_lab=in_lab
    )


def _changes(overrides: Iterable[Override], room: int) -> str:
    """What was set, in so many characters; a key that was set again as it was in the end.

    Papers set dozens of keys: those that find no room are counted.
    """
    pairs = (
        text.partition("=")[::2]
        if isinstance(text, str)
        else (text[0], text[1] if isinstance(text[1], str) else json.dumps(text[1]))
        for text in overrides
    )
    found = {name: value for name, value in pairs if name not in UNTITLED}
    told = [text for name, value in found.items() if (text := f"{name}={value}").isprintable()]
    for count in range(len(told), 0, -1):
        more = len(found) - count
        text = ", ".join(told[:count]) + (f" and {more} more" if more else "")
        if len(text) <= room:
            return text
    return ""


def parse(
    data: dict[str, Any],
    source: Path,
    said: Callable[[Problem], str] | None = None,
    *,
    in_lab: bool = True,
) -> Experiment:
    """The experiment that a mapping describes.

    Paths in it are relative to `source`. `said` tells of a problem and where it is; `in_lab` is as
    in `load`.
    Raises UsageError.
    """
    with builds.settled(), foreign.kept():  # else each flow looks and asks anew
        return _parsed(data, source, said, in_lab)


def _parsed(
    data: dict[str, Any], source: Path, said: Callable[[Problem], str] | None, in_lab: bool
) -> Experiment:
    data = {"title": source.stem} | data
    written = data.get("flows")
    senders = [_by_sender(flow) for flow in written] if isinstance(written, list) else []
    entries = [index for index, flows in enumerate(senders) for _ in flows]
    if senders:
        data["flows"] = list(itertools.chain(*senders))
    problems: list[Problem] = []
    parts = {key: _read_part(key, data, source, problems) for key in Experiment.model_fields}
    facts = None
    there = builds.chosen_root() is not None
    if not there:  # to ask a topology makes one, which is not done for what is wrong anyway
        problems += disagreements(parts, None, entries)
    if there or not problems:
        facts = _topology(parts["topology"], data, source, problems)
        problems += _about_bottlenecks(data, facts)
        problems += disagreements(parts, facts, entries)
        with builds.on(parts["lab"], parts["packages"] or ()):
            root = builds.chosen_root()  # of a lab with packages it may not be there yet
        if in_lab and root:
            problems += loading.problems(parts["flows"] or (), root / builds.ROOT_FILES)
    problems = list(dict.fromkeys((_in_file(at, entries), text) for at, text in problems))
    if problems or facts is None:
        said = said or (lambda problem: f"{source}: {where(problem[0])}: {problem[1]}")
        lines = [*map(said, problems[:MOST_TOLD])]
        if more := len(problems) - len(lines):
            lines.append(f"{source}: and {more} more")
        raise UsageError("\n".join(lines))
    experiment = Experiment.model_validate(
        data | {"flows": parts["flows"]}, context={BESIDE: source.parent}
    )
    experiment._facts = facts
    return experiment


def _by_sender(flow: Any) -> list[Any]:
    """A flow for each host in a list of those that it is from."""
    senders = flow.get("from") if isinstance(flow, dict) else None
    if not senders or not isinstance(senders, list):
        return [flow]
    return [flow | {"from": each} for each in senders]


def _in_file(at: KeyPath, entries: list[int]) -> KeyPath:
    """Where the file has what is wrong with one of the flows, which are from `entries` of it."""
    if at[:1] == ("flows",) and len(at) > 1:
        return ("flows", entries[int(at[1])], *at[2:])
    return at


def _about_bottlenecks(data: Mapping[str, Any], facts: TopologyFacts | None) -> Iterable[Problem]:
    """Keys that a topology with bottlenecks needs, and one without has no use for."""
    if facts is None:
        return
    for key in ("rtt", "bottleneck"):
        if facts.bottlenecks and key not in data:
            yield (key,), missing(Experiment, key)
    if not facts.bottlenecks and "bottleneck" in data:
        yield (
            ("bottleneck",),
            f"topology {facts.name} names none: write what its links have into `links`, or give "
            "one a name there: self.addLink(a, b, bottleneck='bottleneck')",
        )


def schema() -> dict[str, Any]:
    """The JSON Schema of the experiment file, with a description of every key."""
    kinds = [model(workload.ours(name)) for name in workload.names()]
    field = Experiment.model_fields["flows"]
    any_flow = list[Union[(*kinds, Elsewhere)]]  # type: ignore[valid-type]
    whole = create_model(
        "Experiment", __base__=Experiment, __doc__=Experiment.__doc__, flows=(any_flow, field)
    )
    described: dict[str, Any] = _tidy(whole.model_json_schema(by_alias=True))
    described["$defs"]["Elsewhere"]["additionalProperties"] = True
    described["properties"] = {document.BASE: BASE_SCHEMA} | described["properties"] | _parameters()
    needed = [key for key in described.pop("required") if key != "title"]
    for part in IN_PARTS:
        described["$defs"][part].pop("required", None)
    del described["additionalProperties"]
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Sandglass experiment",
        "description": described.pop("description"),
        **described,
        # A base may have what a file leaves out.
        "anyOf": [{"required": [document.BASE]}, {"required": needed}],
        # Only a topology of the user's own may have further parameters.
        "if": {"properties": {"topology": {"type": "string", "pattern": r"\.py$"}}},
        "else": {"propertyNames": {"enum": list(described["properties"])}},
    }


def _parameters() -> dict[str, Any]:
    """Parameters of the topologies that come with Sandglass, as the schema describes them."""
    found: dict[str, Any] = {}
    for name in reversed(topology.names()):  # one in two topologies means the same in both
        for key, parameter in topology.load(name).parameters.items():
            names = [JSON_TYPES[kind] for kind in parameter.kinds]
            also = found.get(key, {"description": parameter.meaning})["description"]
            found[key] = {
                "type": names[0] if len(names) == 1 else names,
                "description": f"{name}{', ' if key in found else ': '}{also}",
            }
            if parameter.default is not topology.REQUIRED:
                found[key]["default"] = parameter.default
    return found


def _tidy(schema: Any) -> Any:
    """Without what pydantic says for its own sake: null for absent keys, titles made of names."""
    if isinstance(schema, list):
        return [_tidy(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    kept = {
        key: _tidy(value)
        for key, value in schema.items()
        if not (key == "title" and isinstance(value, str)) and (key, value) != ("default", None)
    }
    if "anyOf" in kept:
        present = [each for each in kept.pop("anyOf") if each != {"type": "null"}]
        kept = (present[0] if len(present) == 1 else {"anyOf": present}) | kept
    return kept


def _read_part(key: str, data: Mapping[str, Any], source: Path, problems: list[Problem]) -> Any:
    """The value of a top-level key, or None when it cannot be read, which goes to `problems`.

    In a list or mapping of parts, those that cannot be read are None.
    """
    field = Experiment.model_fields[key]
    if key not in data:
        if field.is_required():
            problems.append(((key,), missing(Experiment, key)))
            return None
        return field.get_default(call_default_factory=True)
    value = data[key]
    if value is None:
        problems.append(((key,), EMPTY))
        return None
    if key == "flows" and isinstance(value, list) and value:
        return [
            _read_flow(flow, (key, index), source, problems) for index, flow in enumerate(value)
        ]
    if key in MAPPED and isinstance(value, dict):
        part = MAPPED[key]
        return {
            name: _read(part, each, (key, name), source, problems) for name, each in value.items()
        }
    return _read(Annotated[field.annotation, field], value, (key,), source, problems)


def _read_flow(value: Any, at: KeyPath, source: Path, problems: list[Problem]) -> Flow | None:
    if not isinstance(value, dict):
        text = f"{units.shown(value)} is not a flow: write {{workload: bulk, from: s1, to: d1}}"
        problems.append((at, text))
        return None
    called = value.get("workload")
    if called is None:
        problems.append(((*at, "workload"), f"is missing. {workload.accepted()}"))
        return None
    try:
        kind = model(workload.find(str(called), source.parent))
    except ValueError as error:
        problems.append(((*at, "workload"), str(error)))
        return None
    flow: Flow | None = _read(kind, value, at, source, problems)
    return flow


def _read(kind: Any, value: Any, at: KeyPath, source: Path, problems: list[Problem]) -> Any | None:
    try:
        return TypeAdapter(kind).validate_python(value, context={BESIDE: source.parent})
    except ValidationError as error:
        problems += [((*at, *inner), text) for inner, text in explain(error, Experiment)]
        return None


def _topology(
    name: str | None, data: Mapping[str, Any], source: Path, problems: list[Problem]
) -> TopologyFacts | None:
    """The facts of the topology with its parameters, or None with the reason in `problems`."""
    given = {key: data[key] for key in data if key not in Experiment.model_fields}
    chosen = None
    if name is not None:
        if name.endswith(".py"):
            name = str(source.parent / name)
        try:
            chosen = topology.load(name)
        except UsageError as error:
            problems.append((("topology",), _sentence(error)))
    known = [*Experiment.model_fields, *(chosen.parameters if chosen else {})]
    for key in given:
        # Without a topology only what resembles a key is surely wrong.
        near = nearest(str(key), known)
        if key not in known and (chosen or near):
            problems.append(((str(key),), f"unknown key{near} Keys here: {', '.join(known)}"))
    if chosen is None:
        return None
    for key in chosen.parameters.keys() & Experiment.model_fields:
        text = f"{chosen.path.name} has a parameter {key}, which every experiment has: rename it"
        problems.append((("topology",), text))
    wrong = [((key,), text) for key, text in chosen.wrong(given)]
    problems += wrong
    if wrong or not given.keys() <= chosen.parameters.keys():
        return None
    try:
        return chosen.facts(given)
    except UsageError as error:
        named = (key for key in chosen.parameters if re.search(rf"\b{key}\b", error.message))
        problems.append(((next(named, "topology"),), _sentence(error)))
        return None


def _sentence(error: UsageError) -> str:
    return f"{error.message} {error.hint}" if error.hint else error.message


def line(source: Path, problem: Problem, found: Document, changed: Mapping[KeyPath, str]) -> str:
    """A problem with where it is: codel.yaml:9: flows[0].cc, or an option of the command line."""
    at, text = problem
    for path, option in changed.items():
        # It may have set the key, what holds it, something in it, or made what holds both.
        both = _common(at, path)
        if both in (at, path) or not found.has(both):
            return f"{source}: {where(at)}: {text} (set by {option})"
    return f"{found.place(at) or source}: {where(at)}: {text}"


def _common(first: KeyPath, second: KeyPath) -> KeyPath:
    """What two paths have in common, from the outermost key on."""
    same = itertools.takewhile(lambda pair: pair[0] == pair[1], zip(first, second, strict=False))
    return tuple(key for key, _ in same)


def publish() -> None:
    """Write the schema to where experiments name it for editors, unless it is there.

    A checkout that cannot be written to has no editor.
    """
    text = json.dumps(schema(), indent=2) + "\n"
    if not SCHEMA.is_file() or SCHEMA.read_text() != text:
        with contextlib.suppress(OSError):
            SCHEMA.write_text(text)


if __name__ == "__main__":
    publish()
