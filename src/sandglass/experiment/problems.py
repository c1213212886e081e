"""What is wrong in an experiment file, where it is, and how it is said."""

import math
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


class PartError(ValueError):
    """Everything that is wrong in one part of the file, with paths relative to that part."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        super().__init__("problems")
        self.problems = list(problems)


def explain(error: ValidationError, part: type[BaseModel]) -> list[Problem]:
    """What pydantic found wrong in a `part` of the file, in words for its writer."""
    problems: list[Problem] = []
    for detail in error.errors(include_url=False):
        cause = detail.get("ctx", {}).get("error")
        if isinstance(cause, PartError):
            problems += [((*detail["loc"], *at), text) for at, text in cause.problems]
        else:
            problems.append((detail["loc"], _reason(detail, cause, part)))
    return problems


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
