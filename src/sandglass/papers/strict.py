"""YAML files of a paper, which refuse unknown keys, and may say once what several of them share."""

import functools
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

import yaml
from pydantic import BaseModel, ConfigDict, ValidationError

from sandglass.errors import UsageError, nearest

SHARED = "shared"
"""Wherever a value stands, {shared: NAME} is what the paper shares by that name; what else stands
beside it goes over it."""

Model = TypeVar("Model", bound=BaseModel)


class Strict(BaseModel):
    """Refuses unknown keys, so that a misspelt one is not silently without effect."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)


def parse(path: Path, model: type[Model], sharing: Path | None = None) -> Model:
    """A YAML file as `model`; `sharing` is the file whose key `shared` it may name parts of.

    Raises UsageError, which names the file and the first wrong key.
    """
    above = (sharing, _text(sharing)) if sharing else None
    found: Model = _parsed((path, _text(path)), model, above)
    return found


def _text(path: Path) -> str:
    try:
        return path.read_text()
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from error


@functools.lru_cache(maxsize=512)
def _parsed(file: tuple[Path, str], model: type[Model], sharing: tuple[Path, str] | None) -> Model:
    """A paper's files are asked for once a figure; as long as its text is the same, so is each."""
    path = file[0]
    content = _loaded(*file)
    if sharing:
        above = _loaded(*sharing)
        shared = above.get(SHARED) if isinstance(above, dict) else None
        try:
            content = whole(content, shared if isinstance(shared, dict) else {})
        except ValueError as error:
            raise UsageError(
                f"{path}: {error}", f"what is shared stands in {sharing[0]}"
            ) from error
    try:
        return model.model_validate(content)
    except ValidationError as error:
        raise UsageError(f"{path}: {first_of(error)}") from error


@functools.lru_cache(maxsize=512)
def _loaded(path: Path, text: str) -> Any:
    try:
        return yaml.load(text, yaml.CSafeLoader)
    except yaml.YAMLError as error:
        raise UsageError(f"{path} is not YAML: {error}") from error


def whole(value: Any, shared: Mapping[str, Any], within: tuple[str, ...] = ()) -> Any:
    """A value with what it takes of `shared` in its place.

    `within` are the shared parts that it stands in. Raises ValueError for a name that there is not,
    for a part that is in itself, and where something that is no mapping is to be added to.
    """
    if isinstance(value, list):
        return [whole(each, shared, within) for each in value]
    if not isinstance(value, dict):
        return value
    own = {key: whole(each, shared, within) for key, each in value.items() if key != SHARED}
    if SHARED not in value:
        return own
    name = value[SHARED]
    if name not in shared:
        raise ValueError(f"nothing is shared as {name!r}{nearest(str(name), shared)}")
    if name in within:
        raise ValueError(f"{SHARED}: {name} is a part of itself")
    found = whole(shared[name], shared, (*within, name))
    if not own:
        return found
    if not isinstance(found, dict):
        raise ValueError(
            f"{SHARED}: {name} is no mapping, so that {', '.join(own)} cannot be added"
        )
    return found | own


def first_of(error: ValidationError) -> str:
    """The first wrong key, and what is wrong with it; not which kind of value it was taken for.

    A key that is misspelt goes before one that is missing, which may be the same.
    """
    found = error.errors()
    beside = [each for each in found if each["loc"][:-1] == found[0]["loc"][:-1]]
    first = next((each for each in beside if each["type"] == "extra_forbidden"), found[0])
    key = ".".join(str(part) for part in first["loc"] if "[" not in str(part))
    missing = [str(each["loc"][-1]) for each in beside if each["type"] == "missing"]
    match first["type"]:
        case "extra_forbidden":
            said = f"unknown key{nearest(str(first['loc'][-1]), missing)}"
        case "missing":
            said = "is missing"
        case _:
            said = first["msg"].removeprefix("Value error, ")
    return ": ".join(filter(None, (key, said)))
