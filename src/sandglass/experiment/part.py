"""A mapping of the experiment file with a fixed set of keys."""

from typing import Any

from pydantic import (
    BaseModel,
    ConfigDict,
    ModelWrapValidatorHandler,
    TypeAdapter,
    ValidationError,
    model_validator,
)
from typing_extensions import Self

from sandglass.experiment.problems import EMPTY, PartError, Problem, explain


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


def read(kind: Any, value: object, context: Any = None) -> Any:
    """A value of one kind; only that kind's problems are told, not those of all that it may be."""
    try:
        return TypeAdapter(kind).validate_python(value, context=context)
    except ValidationError as error:
        raise PartError(explain(error, Part)) from None
