"""A YAML file as a plain mapping, with keys set from the command line."""

import copy
from pathlib import Path
from typing import Any

import yaml

from sandglass.errors import UsageError
from sandglass.experiment import units
from sandglass.experiment.problems import KeyPath, where

TEXT = "tag:yaml.org,2002:str"
MERGE = "tag:yaml.org,2002:merge"


class _Loader(yaml.SafeLoader):
    """YAML in which each key is text and stands once."""

    def compose_mapping_node(self, anchor: Any) -> yaml.MappingNode:
        node = super().compose_mapping_node(anchor)
        seen: dict[str, yaml.Node] = {}
        for key, _ in node.value:
            if key.tag == MERGE:
                continue
            if key.tag != TEXT:
                raise _refusal("this key is not text: put it in quotes", key)
            first = seen.setdefault(key.value, key)
            if first is not key:
                line = first.start_mark.line + 1
                text = f"the key '{key.value}' stands there twice, first in line {line}"
                raise _refusal(f"{text}: remove one of them", key)
        return node


def _refusal(text: str, node: yaml.Node) -> yaml.MarkedYAMLError:
    return yaml.composer.ComposerError(None, None, text, node.start_mark)


def read(path: Path) -> dict[str, Any]:
    """The mapping that a YAML file holds. Raises UsageError."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise UsageError(f"{path}: no such file") from None
    except IsADirectoryError:
        raise UsageError(f"{path}: is a directory: name an experiment file in it") from None
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise UsageError(f"{path}: is not text in UTF-8: write a YAML file") from None
    data = _yaml(text, f"{path}")
    if data is None:
        raise UsageError(f"{path}: is empty: write an experiment, as in examples/codel.yaml")
    if not isinstance(data, dict):
        found = units.shown(data)
        raise UsageError(f"{path}: holds {found}, not an experiment: write keys such as topology:")
    return data


def _yaml(text: str, here: str) -> Any:
    try:
        return yaml.load(text, Loader=_Loader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = f", line {mark.line + 1}, column {mark.column + 1}" if mark else ""
        said = ", ".join(text for text in (error.context, error.problem) if text)
        raise UsageError(f"{here}{place}: {said}") from None
    except yaml.YAMLError as error:
        raise UsageError(f"{here}: is not YAML: {str(error).splitlines()[0]}") from None
    except ValueError as error:  # numbers and dates that Python cannot hold
        raise UsageError(f"{here}: holds a value that cannot be read: {error}") from None
    except RecursionError:
        raise UsageError(f"{here}: is nested too deeply: write it flatter") from None


def override(data: dict[str, Any], text: str, source: Path) -> KeyPath:
    """Set one `key.path=value` in `data`; gives the path that it has set. Raises UsageError."""
    here = f"{source}: --set {text}"
    name, equals, written = text.partition("=")
    if not equals or not name or not written:
        raise UsageError(f"{here}: write key.path=value, such as bottleneck.rate=10mbit")
    value = _yaml(written, here)
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
