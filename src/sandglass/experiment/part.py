"""A mapping of the experiment file with a fixed set of keys."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any, TypeVar

from pydantic import (
    BaseModel,
    ConfigDict,
    ModelWrapValidatorHandler,
    TypeAdapter,
    ValidationError,
    model_validator,
)
from typing_extensions import Self

from sandglass.errors import UsageError
from sandglass.experiment.document import Document
from sandglass.experiment.problems import EMPTY, PartError, Problem, explain, where


class Part(BaseModel):
    """A mapping of the file with a fixed set of keys."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    @model_validator(mode="wrap")
    @classmethod
    def _say_what_is_wrong(cls, data: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        empty = [key for key in data if data[key] is None] if isinstance(data, dict) else []
        problems: list[Problem] = [((str(key),), EMPTY) for key in empty]
        known = [at for at, _ in problems]
        given = {key: data[key] for key in data if key not in empty} if empty else data
        try:
            part = handler(given)
            if not problems:
                return part
        except ValidationError as error:
            problems += [(at, text) for at, text in explain(error, cls) if at[:1] not in known]
        raise PartError(problems)


Kind = TypeVar("Kind", bound=Part)


def parsed(kind: type[Kind], data: Any, path: Path, found: Document) -> Kind:
    """The part that a file describes, with `data` in the place of what was found in it.

    Raises UsageError for all that is wrong, a line each.
    """
    try:
        return kind.model_validate(data)
    except ValidationError as error:
        raise refusal(path, found, explain(error, kind)) from None


def refusal(path: Path, found: Document, problems: Iterable[Problem]) -> UsageError:
    """What is said of a file with problems, each with its line."""
    lines = (f"{path}:{found.line(at) or 1}: {where(at)}: {said}" for at, said in problems)
    return UsageError("\n".join(dict.fromkeys(lines)))


def read(kind: Any, value: object, context: Any = None) -> Any:
    """A value of one kind; only that kind's problems are told, not those of all that it may be."""
    try:
        return TypeAdapter(kind).validate_python(value, context=context)
    except ValidationError as error:
        raise PartError(explain(error, Part)) from None
