"""YAML files of a paper, which may say once what several of them share."""

import functools
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

from sandglass.errors import UsageError, nearest
from sandglass.experiment import document
from sandglass.experiment.document import Document
from sandglass.experiment.part import Part, parsed, refusal
from sandglass.experiment.problems import KeyPath, PartError

SHARED = "shared"
"""Wherever a value stands, {shared: NAME} is what the paper shares by that name; what else stands
beside it goes over it."""

Model = TypeVar("Model", bound=Part)


def parse(path: Path, model: type[Model], sharing: Path | None = None) -> Model:
    """A YAML file as `model`; `sharing` is the file whose key `shared` it may name parts of.

    Raises UsageError for all that is wrong, with its line.
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
    found = _loaded(*file)
    content = found.data
    if sharing:
        above = _loaded(*sharing).data
        shared = above.get(SHARED) if isinstance(above, dict) else None
        try:
            content = whole(content, shared if isinstance(shared, dict) else {})
        except PartError as error:
            raise refusal(file[0], found, error.problems) from error
    return parsed(model, content, file[0], found)


@functools.lru_cache(maxsize=512)
def _loaded(path: Path, text: str) -> Document:
    return document.plain(path)


def whole(
    value: Any, shared: Mapping[str, Any], at: KeyPath = (), within: tuple[str, ...] = ()
) -> Any:
    """A value with what it takes of `shared` in its place.

    `at` is where it stands, `within` the shared parts that it is in. Raises PartError for a name
    that there is not, for a part that is in itself, and where what is no mapping is to be added to.
    """
    if isinstance(value, list):
        return [whole(each, shared, (*at, n), within) for n, each in enumerate(value)]
    if not isinstance(value, dict):
        return value
    own = {
        key: whole(each, shared, (*at, key), within) for key, each in value.items() if key != SHARED
    }
    if SHARED not in value:
        return own
    name, place = value[SHARED], at if within else (*at, SHARED)
    if name not in shared:
        raise PartError([(place, f"nothing is shared as {name!r}{nearest(str(name), shared)}")])
    if name in within:
        raise PartError([(place, f"{name} is a part of itself")])
    found = whole(shared[name], shared, at, (*within, name))
    if not own:
        return found
    if not isinstance(found, dict):
        said = f"{name} is no mapping, so that {', '.join(own)} cannot be added"
        raise PartError([(place, said)])
    return found | own
