"""A metric of a study: one number of a finished run.

An expression takes fields of run.json by their dotted paths; an aggregate is one of Polars' SQL
over a table of the run's records.
"""

import ast
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Protocol

import numpy as np
import polars as pl

from sandglass.errors import SandglassError, nearest
from sandglass.results.series import Run
from sandglass.studies import sql, statistics

LONGEST = 1000
"""Characters of an expression."""
FIELDS = (
    *("bottleneck", "bottlenecks", "experiment", "flows", "kernel", "lab", "observed"),
    *("seed", "tools", "virtual_s", "wall_s", "warnings"),
)
"""The fields of run.json that an expression may begin with."""
# A name that no bracket follows; its parts are names, numbers, * or text in quotes.
PATH = re.compile(r"""(?<![\w.])[A-Za-z_]\w*(?:\.(?:\w+|\*|"[^"]*"))*(?!\w*\s*\()""")
PART = re.compile(r'\w+|\*|"[^"]*"')

Number = float | list[float | None]


UNITS = (("_mbit", "Mb/s"), ("_ms", "ms"), ("_s", "s"))
"""What the parts of a path to a field end in that has a unit."""


class Metric(Protocol):
    """What a study measures in each run."""

    @property
    def unit(self) -> str:
        """Of its number; empty where it is not known."""

    def value(self, run: Run) -> float:
        """Its number. Raises ValueError, which says why there is none."""


def _known(values: Number) -> list[float]:
    if not isinstance(values, list):
        raise ValueError("this function is of a list: a path with *, such as flows.*.goodput_mbit")
    if not values:
        raise ValueError("the list is empty")
    if (empty := values.count(None)) > 0:
        raise ValueError(f"{empty} of {len(values)} values are null: present(…) leaves them out")
    return [value for value in values if value is not None]


def _single(value: Number) -> float:
    if isinstance(value, list):
        raise ValueError("a list stands where one number should: take its mean(…), sum(…) or such")
    return value


def _present(values: Number) -> Number:
    if not isinstance(values, list):
        raise ValueError("present is of a list: a path with *, such as flows.*.fct_s")
    return [value for value in values if value is not None]


def _quantile(values: Sequence[float], share: float) -> float:
    """Between two values in proportion."""
    if not 0 <= share <= 1:
        raise ValueError(f"quantile {share:g}: write a share from 0 to 1, such as 0.95")
    return float(np.quantile(values, share))


def _of_list(function: Callable[[list[float]], float]) -> Callable[[Number], Number]:
    return lambda values: function(_known(values))


def _of_number(function: Callable[[float], float]) -> Callable[[Number], Number]:
    return lambda value: function(_single(value))


FUNCTIONS: Mapping[str, tuple[int, Callable[..., Number]]] = {
    "sum": (1, _of_list(math.fsum)),
    "mean": (1, _of_list(lambda values: math.fsum(values) / len(values))),
    "min": (1, _of_list(min)),
    "max": (1, _of_list(max)),
    "count": (1, _of_list(len)),
    "median": (1, _of_list(lambda values: _quantile(values, 0.5))),
    "p50": (1, _of_list(lambda values: _quantile(values, 0.5))),
    "p95": (1, _of_list(lambda values: _quantile(values, 0.95))),
    "p99": (1, _of_list(lambda values: _quantile(values, 0.99))),
    "quantile": (2, lambda values, share: _quantile(_known(values), _single(share))),
    "jain": (1, _of_list(statistics.jain)),
    "present": (1, _present),
    "abs": (1, _of_number(abs)),
    "sqrt": (1, _of_number(math.sqrt)),
    "log": (1, _of_number(math.log)),
}
"""What an expression may call, with how many arguments."""

OPERATORS: Mapping[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: lambda a, b: a + b,
    ast.Sub: lambda a, b: a - b,
    ast.Mult: lambda a, b: a * b,
    ast.Div: lambda a, b: a / b,
    ast.Pow: math.pow,
}


@dataclass(frozen=True)
class Expression:
    """Arithmetic and functions of fields of run.json."""

    text: str
    tree: ast.expr
    paths: tuple[tuple[str, ...], ...]
    """Of the fields; the tree has the number of each in its place."""
    said: str | None = None
    """The unit, as the file says it."""

    @property
    def unit(self) -> str:
        """As the file says it, else that of the field, where it is a field, or the mean of some."""
        node = self.tree
        while isinstance(node, ast.Call) and _keeps_the_unit(node):
            node = node.args[0]
        if self.said is not None or not isinstance(node, ast.Name):
            return self.said or ""
        path = self.paths[int(node.id[1:])]
        return next((unit for end, unit in UNITS for part in path if part.endswith(end)), "")

    def value(self, run: Run) -> float:
        try:
            found = _single(self._evaluate(self.tree, run.document))
        except (ZeroDivisionError, OverflowError) as error:
            raise ValueError(f"{self.text}: {error}") from None
        return _finite(found)

    def _evaluate(self, node: ast.expr, document: Mapping[str, Any]) -> Number:
        match node:
            case ast.Constant():
                return float(node.value)  # type: ignore[arg-type]
            case ast.Name():
                return _field(document, self.paths[int(node.id[1:])])
            case ast.UnaryOp():
                value = _single(self._evaluate(node.operand, document))
                return -value if isinstance(node.op, ast.USub) else value
            case ast.BinOp():
                left, right = (
                    _single(self._evaluate(n, document)) for n in (node.left, node.right)
                )
                return OPERATORS[type(node.op)](left, right)
            case ast.Call(func=ast.Name(id=name)):
                function = FUNCTIONS[name][1]
                return function(*(self._evaluate(each, document) for each in node.args))
        raise AssertionError(node)  # _check lets nothing else pass


def _keeps_the_unit(node: ast.Call) -> bool:
    return isinstance(node.func, ast.Name) and node.func.id not in ("count", "jain", "sqrt", "log")


def expression(text: str, unit: str | None = None) -> Expression:
    """An expression, checked. Raises ValueError, which says what is wrong with it."""
    if len(text) > LONGEST:
        raise ValueError(f"is longer than {LONGEST} characters: write a `module`")
    paths: list[tuple[str, ...]] = []

    def numbered(found: re.Match[str]) -> str:
        paths.append(tuple(part.strip('"') for part in PART.findall(found[0])))
        return f" _{len(paths) - 1} "

    try:
        left = PATH.sub(numbered, text).strip()
        if not left.isascii():  # a name to Python, and no path
            raise SyntaxError
        tree = ast.parse(left, mode="eval").body
        _check(tree)
    except (SyntaxError, RecursionError, MemoryError):
        raise ValueError(
            f"{text!r} cannot be read: write arithmetic of fields of run.json, such as "
            "sum(flows.*.goodput_mbit) / 20"
        ) from None
    for path in paths:
        if path[0] not in FIELDS:
            near = nearest(path[0], [*FIELDS, *FUNCTIONS])
            raise ValueError(f"run.json has no {'.'.join(path)}{near}")
    return Expression(text, tree, tuple(paths), unit)


def _check(node: ast.expr) -> None:
    match node:
        case ast.Constant() if type(node.value) in (int, float):
            if abs(node.value) > 1e300:  # type: ignore[arg-type]
                raise ValueError("has a number that is too large")
        case ast.Name():
            pass  # of a path
        case ast.UnaryOp(op=ast.USub() | ast.UAdd()):
            _check(node.operand)
        case ast.BinOp() if type(node.op) in OPERATORS:
            _check(node.left)
            _check(node.right)
        case ast.Call(func=ast.Name(id=name), keywords=[]):
            if name not in FUNCTIONS:
                near = nearest(name, FUNCTIONS)
                raise ValueError(f"unknown function {name}{near} There are {', '.join(FUNCTIONS)}")
            if len(node.args) != (wanted := FUNCTIONS[name][0]):
                raise ValueError(f"{name} takes {wanted} argument{'s'[: wanted - 1]}")
            for each in node.args:
                _check(each)
        case _:
            raise SyntaxError


def _field(document: Any, path: tuple[str, ...]) -> Number:
    """A number of run.json, or with * in the path a list of all that have the rest of it."""
    found = list(_followed(document, path))
    name = ".".join(path)
    if not found:
        raise ValueError(f"run.json has no {name}")
    for value in found:
        if value is not None and not isinstance(value, int | float):
            raise ValueError(f"{name} is no number but {str(value)[:40]!r}")
    numbers = [None if value is None else float(value) for value in found]
    if "*" in path:
        return numbers
    if numbers[0] is None:
        raise ValueError(f"{name} is null in run.json")
    return numbers[0]


def _followed(document: Any, path: tuple[str, ...]) -> list[Any]:
    if not path:
        return [document]
    key, rest = path[0], path[1:]
    if isinstance(document, list):
        document = {str(index): value for index, value in enumerate(document)}
    if not isinstance(document, dict):
        return []
    inner = list(document.values()) if key == "*" else [document[key]] if key in document else []
    return [value for each in inner for value in _followed(each, rest)]


@dataclass(frozen=True)
class Aggregate:
    """One number over a table of a run's records, in the words of Polars' SQL."""

    table: str
    of: str
    where: str | None = None
    unit: str = ""

    def value(self, run: Run) -> float:
        try:
            rows = run.records(self.table)
            if self.where:
                rows = rows.filter(sql.expression(self.where))
            found = rows.select(sql.expression(self.of).alias("value")).head(2).collect()
        except SandglassError as error:
            raise ValueError(error.message) from None
        except pl.exceptions.PolarsError as error:
            raise ValueError(str(error).splitlines()[0]) from None
        if found.height != 1:
            raise ValueError(f"{self.of} is no aggregate: write avg(…), max(…) or such")
        value = found.item()
        if isinstance(value, Decimal):  # Polars' SQL reads 1.0 as one
            value = float(value)
        if not isinstance(value, int | float):
            rows_in = f" where {self.where}" if self.where else ""
            raise ValueError(f"{self.of} of {self.table}{rows_in} is {value!r}: no number")
        return _finite(float(value))


def check_sql(text: str) -> None:
    """Raises ValueError unless the text is one expression of Polars' SQL."""
    try:
        sql.expression(text)
    except ValueError as error:
        raise ValueError(
            f"{error}: write an expression of Polars' SQL, such as "
            "QUANTILE_CONT(sojourn_ns, 0.95) / 1e6"
        ) from None


def _finite(value: float) -> float:
    if not math.isfinite(value):
        raise ValueError(f"it is {value}")
    return value


def values(metrics: Mapping[str, Metric], run: Run) -> dict[str, float]:
    """The metrics of a run. Raises SandglassError, which names the metric and the run."""
    found = {}
    for name, metric in metrics.items():
        try:
            found[name] = metric.value(run)
        except ValueError as error:
            raise SandglassError(f"{run.directory}: metric {name} has no value: {error}") from None
    return found
