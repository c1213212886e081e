"""What is wrong in an experiment file, where it is, and how it is said."""

import math
import re
from collections.abc import Iterable
from typing import Any

import yaml
from pydantic import BaseModel, ValidationError

from sandglass.errors import nearest
from sandglass.experiment import units

KeyPath = tuple[str | int, ...]
Problem = tuple[KeyPath, str]  # where in the file, and what is wrong there

EMPTY = "is empty: give a value, or leave the key out"
NOT_A = {
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "bool_type": "true or false",
    "string_type": "text: put it in quotes",
    "list_type": "a list: begin each entry with '- '",
    "dict_type": "a mapping: write key: value",
    "model_type": "a mapping: write key: value",
    "model_attributes_type": "a mapping: write key: value",
}
KIND = re.compile(r"[\w-]*\[.*\]|str|int|float|bool", re.S)
"""What pydantic puts into a path for the kind of value that it took one for, of several."""


class PartError(ValueError):
    """Everything that is wrong in one part of the file, with paths relative to that part."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        super().__init__("problems")
        self.problems = list(problems)


def explain(error: ValidationError, part: type[BaseModel]) -> list[Problem]:
    """What pydantic found wrong in a `part` of the file, in words for its writer.

    Of a value that may be of several kinds, what keeps it from being of the one that it fits best.
    """
    found: list[tuple[KeyPath, Problem]] = []
    for detail in error.errors(include_url=False):
        loc, cause = detail["loc"], detail.get("ctx", {}).get("error")
        if isinstance(cause, PartError):
            found += [(loc, ((*loc, *at), text)) for at, text in cause.problems]
        else:
            inner = loc[:-1] if detail["type"] == "extra_forbidden" else loc
            found.append((inner, (loc, _reason(detail, cause, part))))
    kinds: dict[KeyPath, str | int] = {}
    for loc, _ in sorted(found, key=lambda each: -len(each[1][0])):
        for n in _kinds(loc):
            kinds.setdefault(loc[:n], loc[n])
    return [
        (tuple(key for n, key in enumerate(at) if n not in _kinds(loc)), text)
        for loc, (at, text) in found
        if all(kinds[loc[:n]] == loc[n] for n in _kinds(loc))
    ]


def _kinds(loc: KeyPath) -> list[int]:
    """Where in a path a kind stands, and no key."""
    return [n for n, key in enumerate(loc) if isinstance(key, str) and KIND.fullmatch(key)]


def _reason(detail: Any, cause: Exception | None, part: type[BaseModel]) -> str:
    value, key = units.shown(detail["input"]), str(detail["loc"][-1]) if detail["loc"] else ""
    match detail["type"]:
        case "missing":
            return missing(part, key)
        case "extra_forbidden":
            known = [field.alias or name for name, field in part.model_fields.items()]
            return f"unknown key{nearest(key, known)} Keys here: {', '.join(known)}"
        case "greater_than_equal":
            return f"{value} is too small: write {detail['ctx']['ge']} or more"
        case "less_than_equal":
            return f"{value} is too large: write {detail['ctx']['le']} or less"
        case "too_short":
            return "is empty: give at least one entry"
        case "string_pattern_mismatch":
            example = (part.model_fields[key].examples or [""])[0]
            return f"{value} is not a {key}: write one such as {example}"
        case kind if kind in NOT_A:
            return f"{value} is not {NOT_A[kind]}"
    return str(cause or detail["msg"])


def missing(part: type[BaseModel], key: str) -> str:
    """What is said of a required key that is not there."""
    field = next(f for name, f in part.model_fields.items() if key in (name, f.alias))
    if not field.examples:
        return "is missing"
    example = yaml.safe_dump(
        field.examples[0], default_flow_style=True, sort_keys=False, width=math.inf
    )
    return f"is missing: give one, such as {example.splitlines()[0]}"


def where(at: Iterable[str | int]) -> str:
    """A path as the file's reader would write it: flows[0].from."""
    text = "".join(
        f"[{key}]" if isinstance(key, int) else f".{key if key.isprintable() else repr(key)}"
        for key in at
    )
    return text.removeprefix(".")
