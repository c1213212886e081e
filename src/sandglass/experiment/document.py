"""A YAML file as a plain mapping: its lines, its base, and keys set from the command line."""

import copy
import functools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import yaml

from sandglass.errors import UsageError
from sandglass.experiment import units
from sandglass.experiment.problems import KeyPath, where
from sandglass.install.builds import ROOT
from sandglass.terminal import shown

EXAMPLES = ROOT / "examples"
TEXT = "tag:yaml.org,2002:str"
MERGE = "tag:yaml.org,2002:merge"
NOTHING = "tag:yaml.org,2002:null"
BASE = "base"
"""The key that names files which the rest of a file changes and adds to."""
KIND = "kind"
"""A part of another kind than the base's replaces it: it has other keys."""
MOST_BASES = 20
"""Files that one is made of."""
LARGEST = 1_000_000
"""Bytes of a file; 15,000 flows, a line each, are less."""
MOST_VALUES = 200_000
"""Values in a file, those that an alias brings counted each time."""
LONGEST_NUMBER = 256
"""Bits; Python writes numbers of some 14,000 no more, not even into a message."""

Value = bool | int | float | str
"""What one key can be set to, from the command line or by an axis of a figure."""
Found = TypeVar("Found")
Override = str | tuple[str, Any]
"""A key that is set: `key.path=value` of the command line, or a path and its value from Python."""


class _Loader(yaml.SafeLoader):
    """YAML in which each key is text and stands once."""

    def compose_mapping_node(self, anchor: Any) -> yaml.MappingNode:
        node = super().compose_mapping_node(anchor)
        for key, _ in node.value:
            if key.tag not in (TEXT, MERGE):
                raise _refusal("this key is not text: put it in quotes", key)
        _check_keys(node)
        return node

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:
        try:
            value = super().construct_object(node, deep)
        except ValueError as error:  # numbers and dates that Python cannot hold
            raise _refusal(f"a value that cannot be read: {error}", node) from None
        if isinstance(value, int) and value.bit_length() > LONGEST_NUMBER:
            raise _refusal("a number with too many digits: nothing is so large", node)
        return value


def _check_keys(mapping: yaml.MappingNode) -> None:
    """Raises MarkedYAMLError for a key that stands twice in it."""
    seen: dict[tuple[str, str], yaml.Node] = {}
    for key, _ in mapping.value:
        if key.tag == MERGE or not isinstance(key, yaml.ScalarNode):
            continue
        first = seen.setdefault((key.tag, key.value), key)
        if first is not key:
            line = first.start_mark.line + 1
            text = f"the key '{key.value}' stands there twice, first in line {line}"
            raise _refusal(f"{text}: remove one of them", key)


def _mappings(root: yaml.Node) -> Iterator[yaml.MappingNode]:
    """The mappings below a node, itself included, each once."""
    seen: set[int] = set()
    left = [root]
    while left:
        node = left.pop()
        if isinstance(node, yaml.ScalarNode) or id(node) in seen:
            continue
        seen.add(id(node))
        if isinstance(node, yaml.MappingNode):
            yield node
            left += (value for _, value in node.value)
        else:
            left += node.value


def _refusal(text: str, node: yaml.Node) -> yaml.MarkedYAMLError:
    return yaml.composer.ComposerError(None, None, text, node.start_mark)


@dataclass(frozen=True)
class Document:
    """A mapping that a YAML file holds, and where its keys stand."""

    data: dict[str, Any]
    root: yaml.Node
    bases: tuple[Path, ...] = ()
    """The files that it is made of besides, each once."""

    def line(self, at: KeyPath) -> int | None:
        """The line of a key, from 1, or of the nearest that holds it; None: nothing of it is there.

        What an alias or a merge brings stands where it was written.
        """
        marks = self._marks(at)
        return marks[-1].line + 1 if marks else None

    def place(self, at: KeyPath) -> str | None:
        """The file and the line of a key, codel.yaml:9; the file may be one of the bases."""
        marks = self._marks(at)
        return f"{marks[-1].name}:{marks[-1].line + 1}" if marks else None

    def has(self, at: KeyPath) -> bool:
        """Whether a key stands there."""
        return len(self._marks(at)) == len(at)

    def _marks(self, at: KeyPath) -> list[yaml.Mark]:
        """Where a key and those that hold it begin, from the outermost; of what is there."""
        node, marks = self.root, []
        for key in at:
            found = _entry(node, key)
            if found is None:
                break
            place, node = found
            marks.append(place.start_mark)
        return marks


def _entry(node: yaml.Node, key: str | int) -> tuple[yaml.Node, yaml.Node] | None:
    """Where an entry of a mapping or a list begins, and its value."""
    if isinstance(node, yaml.MappingNode):
        # The reader has put what merges bring before the mapping's own keys, which win.
        return next((pair for pair in reversed(node.value) if pair[0].value == key), None)
    if isinstance(node, yaml.SequenceNode) and isinstance(key, int) and key < len(node.value):
        return node.value[key], node.value[key]
    return None


def read(path: Path, noun: str = "an experiment", example: str = "codel.yaml") -> Document:
    """The mapping that a YAML file holds on its base, which should be `noun`. Raises UsageError."""
    bases: list[Path] = []
    root = _on_base(path, _root(_text(path, noun, example), f"{path}"), bases)
    data = _constructed(root, f"{path}")
    if data is None:
        raise UsageError(f"{path}: is empty: write {noun}, as in examples/{example}")
    if not isinstance(data, dict):
        found = units.shown(data)
        raise UsageError(f"{path}: holds {found}, not {noun}: write one as in examples/{example}")
    return Document(data, root, tuple(dict.fromkeys(bases)))


def plain(path: Path) -> Document:
    """What a file of ours holds, read in C, since it is large: keys need not be texts, no base.

    Raises UsageError for what is no YAML.
    """

    def found() -> Document:
        with path.open() as file:
            loader = yaml.CSafeLoader(file)
            root = loader.get_single_node() or yaml.ScalarNode(NOTHING, "")
            for mapping in _mappings(root):
                _check_keys(mapping)
            return Document(loader.construct_document(root), root)

    return _refused(found, f"{path}", of_file=True)


def _on_base(path: Path, root: yaml.Node, bases: list[Path]) -> yaml.Node:
    """What a file holds, on what its base holds, which is added to `bases`. Raises UsageError."""
    found = _entry(root, BASE)
    if found is None:
        return root
    assert isinstance(root, yaml.MappingNode)
    here = f"{path}:{found[0].start_mark.line + 1}: {BASE}"
    named = _constructed(found[1], here)
    whole: yaml.Node | None = None
    for name in named if isinstance(named, list) and named else [named]:
        if not isinstance(name, str) or not name:
            raise UsageError(f"{here}: is no name of a file: write {BASE}: common.yaml")
        home = path.parent.resolve()
        file = (path.parent / name).resolve()
        if not file.is_relative_to(home):
            raise UsageError(f"{here}: {name} lies elsewhere: name a file beside this one or below")
        bases.append(path.parent / name)
        if len(bases) > MOST_BASES:
            raise UsageError(f"{here}: more than {MOST_BASES} files, or one that is its own base")
        text = _text(path.parent / name, "a part of an experiment", "codel.yaml")
        own = _on_base(path.parent / name, _root(text, f"{path.parent / name}"), bases)
        whole = own if whole is None else _merged(whole, own)
    rest = [pair for pair in root.value if pair[0].value != BASE]
    own = yaml.MappingNode(root.tag, rest, root.start_mark, root.end_mark)
    return own if whole is None else _merged(whole, own)


def _merged(base: yaml.Node, own: yaml.Node) -> yaml.Node:
    """A mapping on another, key by key, and the mappings in them; all else is in its place."""
    if not isinstance(base, yaml.MappingNode) or not isinstance(own, yaml.MappingNode):
        return own
    kinds = [found[1].value for node in (base, own) if (found := _entry(node, KIND))]
    if len(kinds) == 2 and kinds[0] != kinds[1]:
        return own
    values = {key.value: (key, value) for key, value in base.value}
    for key, value in own.value:
        there = values.get(key.value)
        values[key.value] = (key, _merged(there[1], value) if there else value)
    return yaml.MappingNode(own.tag, [*values.values()], own.start_mark, own.end_mark)


def _text(path: Path, noun: str, example: str) -> str:
    """What a file holds. Raises UsageError where it cannot be `noun`."""
    try:
        with path.open("rb") as file:
            written = file.read(LARGEST + 1)
        text = written.decode("utf-8")
    except FileNotFoundError:
        near = EXAMPLES / path.with_suffix(".yaml").name
        hint = f"There is {near}." if near.is_file() else None
        raise UsageError(f"{path}: no such file", hint) from None
    except IsADirectoryError:
        if (path / "run.json").is_file():
            hint = f"Look at it: ./sandglass show {shown(path)}"
            raise UsageError(f"{path}: is a finished run, not {noun}", hint) from None
        raise UsageError(f"{path}: is a directory: name a file in it") from None
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise UsageError(f"{path}: is not text in UTF-8: write a YAML file") from None
    if path.suffix == ".py":
        hint = f"Run it: ./sandglass exec {shown(path)}; or name it as an experiment's topology."
        raise UsageError(f"{path}: is a Python script, not {noun}", hint)
    if len(written) > LARGEST:
        hint = "For many flows alike, give one a count, or from: [s1, s2, …]."
        raise UsageError(f"{path}: has more than {LARGEST // 1000} kB, too much for {noun}", hint)
    return text


@functools.lru_cache(maxsize=128)  # a base is that of many
def _root(text: str, here: str, *, of_file: bool = True) -> yaml.Node:
    """The node of a text, which nobody changes: of one text it is one.

    A text that is not `of_file` is a line. Raises UsageError.
    """

    def root() -> yaml.Node:
        loader = _Loader(text)
        loader.name = here
        found = loader.get_single_node() or yaml.ScalarNode(NOTHING, "")
        _values(found, {})
        return found

    return _refused(root, here, of_file=of_file)


def _constructed(root: yaml.Node, here: str, *, of_file: bool = True) -> Any:
    """The value of a node. Raises UsageError."""

    def value() -> Any:
        _values(root, {})
        return _Loader("").construct_document(root)

    return _refused(value, here, of_file=of_file)


def _refused(do: Callable[[], Found], here: str, *, of_file: bool) -> Found:
    """What is done with YAML; what is wrong with it, as a UsageError with its line."""
    try:
        return do()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = f":{mark.line + 1}" if mark and of_file else ""
        column = f", column {mark.column + 1}" if mark else ""
        said = ", ".join(text for text in (error.context, error.problem) if text)
        raise UsageError(
            f"{mark.name if mark and of_file else here}{line}{column}: {said}"
        ) from None
    except yaml.YAMLError as error:
        raise UsageError(f"{here}: is not YAML: {str(error).splitlines()[0]}") from None
    except RecursionError:
        raise UsageError(f"{here}: is nested too deeply: write it flatter") from None


def _values(node: yaml.Node, found: dict[int, int | None]) -> int:
    """How many values a node stands for, each as often as aliases bring it; `found` is of others.

    Raises MarkedYAMLError where they are too many, or it is part of itself.
    """
    if isinstance(node, yaml.ScalarNode):
        return 1
    if id(node) in found:
        known = found[id(node)]
        if known is None:
            raise _refusal("this holds itself, by an alias", node)
        return known
    found[id(node)] = None
    inside = [part for pair in node.value for part in (pair if isinstance(pair, tuple) else [pair])]
    number = 1 + sum(_values(part, found) for part in inside)
    if number > MOST_VALUES:
        raise _refusal(f"more than {MOST_VALUES:,} values, with what aliases bring", node)
    found[id(node)] = number
    return number


def override(data: dict[str, Any], text: Override, source: Path) -> KeyPath:
    """Set one key in `data`; gives the path that it has set. Raises UsageError."""
    if not isinstance(text, str):
        name, given = text
        return put(data, name, given, f"{source}: settings: {name}")
    here = f"{source}: --set {text}"
    name, equals, written = text.partition("=")
    if not equals or not name or not written:
        raise UsageError(f"{here}: write key.path=value, such as bottleneck.rate=10mbit")
    return put(data, name, value(written, here), here)


def value(written: str, here: str) -> Any:
    """What a text of the command line stands for in YAML. Raises UsageError."""
    return _constructed(_root(written, here, of_file=False), here, of_file=False)


def put(data: dict[str, Any], name: str, value: Any, here: str) -> KeyPath:
    """Set the key with the path `name` in `data`; gives the path that it has set.

    Raises UsageError, which begins with `here`, when the path leads nowhere.
    """
    # The names of sysctls have dots of their own.
    outer, dot, sysctl = name.partition(".sysctls.")
    keys = [*outer.split("."), *(["sysctls", sysctl] if dot else [])]
    inner: Any = data
    path: list[str | int] = []
    for depth, key in enumerate(keys):
        place: str | int = key
        if isinstance(inner, list):
            if not key.isdecimal() or int(key) >= len(inner):
                entries = f"0 to {len(inner) - 1}" if inner else "none"
                raise UsageError(f"{here}: {where(path)} has no entry {key}: it has {entries}")
            place = int(key)
        elif isinstance(inner, dict):
            inner.setdefault(key, {})
        else:
            found = units.shown(inner)
            raise UsageError(f"{here}: {where(path)} is {found}, it has no key {key}")
        path.append(place)
        # A copy, because an alias may use the same part elsewhere.
        inner[place] = value if depth == len(keys) - 1 else copy.copy(inner[place])
        inner = inner[place]
    return tuple(path)


def at(data: Mapping[str, Any], name: str) -> Any:
    """The value of the key with the path `name`. Raises UsageError where there is none."""
    found: Any = data
    for key in name.split("."):
        try:
            found = found[int(key) if isinstance(found, list) else key]
        except (KeyError, IndexError, ValueError, TypeError):
            raise UsageError(f"the experiment has no {name}") from None
    return found
