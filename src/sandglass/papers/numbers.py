"""Numbers in texts: {{ EXPRESSION:FORMAT }} stands for what a figure's table has.

Explanations and abstracts are of the paper profile. So the numbers are those of the reference, or,
of a paper that has none, those that were made last. An expression is one of Jinja's:

    {{ claim("pie-0.85-at-400ms"):.0f }}               what a claim of this figure measured
    {{ gain(queue="PIE", beta=0.85) / 100:.2f }}       a metric of this figure
    {{ fig08.rows(queue="PIE").mean("delay_ms"):.1f }} a column of another figure's table
    {{ span(least(beta=0.7), least(beta=0.8)):.2f }}   0.26 to 0.46
    {{ ns2.fig07.claim("pie-0.7-at-400ms"):.0f }}      the same in a variant of the paper

The format is Python's; without one a number has three digits.
"""

import functools
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import jinja2
import jinja2.meta
import polars as pl
from jinja2.sandbox import SandboxedEnvironment

from sandglass.errors import SandglassError, UsageError, nearest
from sandglass.experiment.document import Value
from sandglass.papers import claims, code, ensemble, shelf, variants, verdicts
from sandglass.papers.verdicts import NoValueError, Verdict
from sandglass.results import compact
from sandglass.studies import sql, statistics
from sandglass.studies.statistics import Interval

PLACE = re.compile(r"\{\{(.*?)\}\}", re.S)
LITERAL = re.compile(r"-?\d+(?:\.\d+)?")
"""A number of no table, which stands as it is written."""
FORMAT = re.compile(r"^(.*):([-+ z#0-9,.]*[efg%d]?)\s*$", re.S)
DIGITS = 3
"""Of a number without a format."""
REPLICAS = (ensemble.REPLICA, "seed")
"""What tells replicas apart: they are runs of the profile, or seeds in a table that has several."""
NOT_HERE = "(not in these results)"
WRONG = (SandglassError, jinja2.TemplateError, ValueError, TypeError, pl.exceptions.PolarsError)
"""What an expression can raise."""
ENVIRONMENT = SandboxedEnvironment(undefined=jinja2.StrictUndefined)


class Quantity(float):
    """A mean, with the ends of its 95 % interval, `low` and `high`, and its replicas, `n`."""

    low: float | None
    high: float | None
    n: int

    @classmethod
    def of(cls, found: Interval, n: int) -> "Quantity":
        """A mean that has been found."""
        made = cls(found.mean)
        made.low, made.high, made.n = found.low, found.high, n
        return made

    @property
    def interval(self) -> "Span":
        """From `low` to `high`."""
        if self.low is None or self.high is None:
            raise ValueError("one run alone has no interval")
        return Span([self.low, self.high])


class Span:
    """The least and the largest of some numbers: 0.26 to 0.46, or one number where both read so."""

    def __init__(self, values: Sequence[float]) -> None:
        if not values:
            raise ValueError("span: there is no number")
        self.least, self.largest = min(values), max(values)

    def __format__(self, spec: str) -> str:
        ends = [_written(end, spec) for end in (self.least, self.largest)]
        return " to ".join(dict.fromkeys(ends))


class Rows:
    """Some rows of a figure's table."""

    def __init__(self, table: pl.DataFrame) -> None:
        self._table = table
        self._replicas = next((name for name in REPLICAS if name in table.columns), None)

    @property
    def count(self) -> int:
        """How many there are, of one replica."""
        return self._table.height // (
            self._table[self._replicas].n_unique() if self._replicas else 1
        )

    def mean(self, column: str) -> Quantity:
        """The mean of a column: that of each replica with all of these rows, and over these."""
        table = self._known(column)
        if self._replicas is None:
            return Quantity.of(Interval(float(table[column].mean()), None, None), 1)  # type: ignore[arg-type]
        each = table.group_by(self._replicas).agg(pl.col(column).mean(), pl.len().alias("rows"))
        values = each.filter(pl.col("rows") == pl.col("rows").max())[column].to_list()
        return Quantity.of(statistics.interval(values), len(values))

    def least(self, column: str, by: str | list[str] | None = None) -> float:
        """The least of the points' means; `by` are the columns that tell points apart."""
        return min(self._points(column, by))

    def largest(self, column: str, by: str | list[str] | None = None) -> float:
        """The largest of the points' means."""
        return max(self._points(column, by))

    def median(self, column: str, by: str | list[str] | None = None) -> float:
        """The median of the points' means."""
        return float(pl.Series(self._points(column, by)).median())  # type: ignore[arg-type]

    def span(self, column: str, by: str | list[str] | None = None) -> Span:
        """From the least to the largest of the points' means."""
        return Span(self._points(column, by))

    def _points(self, column: str, by: str | list[str] | None) -> list[float]:
        table = self._known(column)
        if by is None and self._replicas:
            raise ValueError(
                f"{column}: the table has replicas: say which columns tell points apart"
            )
        if by is None:
            return table[column].to_list()
        keys = [by] if isinstance(by, str) else by
        _expect(keys, table.columns)
        return table.group_by(keys).agg(pl.col(column).mean())[column].to_list()

    def _known(self, column: str) -> pl.DataFrame:
        _expect([column], self._table.columns)
        found = self._table.drop_nulls(column)
        if found.is_empty():
            raise NoValueError(f"{column}: there is no such row with a value")
        return found.with_columns(pl.col(column).cast(pl.Float64))


class _Named(NamedTuple):
    """A metric and its arguments, as an expression calls it."""

    metric: str
    arguments: Mapping[str, Any]


class Numbers:
    """What an expression may ask of a figure: `claim`, `rows`, and each of its metrics."""

    def __init__(self, paper: str, figure: str) -> None:
        self._paper, self._figure = paper, figure

    def claim(self, name: str) -> Quantity:
        """What a claim of the figure measures."""
        known = {each.id: each for each in claims.claims(self._paper, self._figure)}
        if name not in known:
            raise ValueError(f"{self._figure} has no claim {name}{nearest(name, known)}")
        return self._measured(known[name], parts=known[name].replicas == "all")

    def rows(self, where: str = "", **values: Value | list[Value]) -> Rows:
        """Rows of the figure's table, by a condition in Polars' SQL and by columns' values."""
        found = table(self._paper, self._figure).rows
        _expect(values, found.columns)
        if where:
            found = found.filter(sql.expression(where))
        for column, value in values.items():
            chosen = value if isinstance(value, list) else [value]
            same = [pl.col(column).eq_missing(each) for each in chosen]
            found = found.filter(pl.any_horizontal(same))
        return Rows(found)

    def __getattr__(self, name: str) -> Callable[..., Quantity]:
        if name.startswith("_"):
            raise AttributeError(name)

        def metric(**arguments: object) -> Quantity:
            return self._measured(_Named(name, arguments), parts=False)

        return metric

    def _measured(self, what: verdicts.Measure, *, parts: bool) -> Quantity:
        known = table(self._paper, self._figure)
        own = code.metrics(self._paper, self._figure)
        metric = verdicts.function(what, {each.__name__: each for each in own})
        more = known.parts if parts else []
        _, n, found = verdicts.measured(what, metric, known.whole, more)
        return Quantity.of(found, n)


class InVariant:
    """What an expression may ask of a variant: each of the paper's figures."""

    def __init__(self, paper: str) -> None:
        self._paper = paper

    def __getattr__(self, figure: str) -> Numbers:
        if figure not in shelf.paper(self._paper).figures:
            raise AttributeError(figure)
        return Numbers(self._paper, figure)


class NotMadeError(NoValueError):
    """A table that is neither in the reference nor among the results."""


class Table(NamedTuple):
    """A figure's table, and its replicas: those with all points, and the others."""

    rows: pl.DataFrame
    whole: list[pl.DataFrame]
    parts: list[pl.DataFrame]


@functools.lru_cache(maxsize=32)  # a text asks for one many times
def table(paper: str, figure: str) -> Table:
    """A figure's table in the reference, or as it was last made. Raises NotMadeError without."""
    if (kept := shelf.kept(paper, figure)).is_file():
        rows = compact.read(kept)
    elif (made := Path("results") / paper / f"{figure}.csv").is_file():
        rows = pl.read_csv(made, infer_schema_length=None)
    else:
        raise NotMadeError(f"{figure} is not made yet")
    return Table(rows, ensemble.replicas(rows), ensemble.replicas(rows, parts=True))


@functools.lru_cache(maxsize=2048)  # pages and tests ask for each some times
def rendered(text: str, paper: str, figure: str | None = None) -> str:
    """A text of a paper, or of a figure of it, with its numbers.

    What the reference does not have yet is written with the numbers that there are: one that the
    results lack, since they are of a smaller profile or not made, is said to be so in its place.
    Raises UsageError for an expression that is wrong, which it names.
    """
    return PLACE.sub(lambda found: _number(found[1].strip(), paper, figure), text)


def explained(paper: str, found: Iterable[Verdict]) -> list[Verdict]:
    """Verdicts on a paper's claims, with the numbers of their explanations."""
    return [
        each.model_copy(update={"explanation": rendered(each.explanation, paper, each.figure)})
        for each in found
    ]


def _number(inside: str, paper: str, figure: str | None) -> str:
    if LITERAL.fullmatch(inside):
        return inside
    split = FORMAT.match(inside)
    expression, spec = (split[1].strip(), split[2]) if split else (inside, "")
    try:
        return _written(value(expression, paper, figure), spec)
    except WRONG as error:
        kept = shelf.kept(paper, figure) if figure else shelf.reference(paper)
        if isinstance(error, NoValueError) and not kept.exists():
            return f"({error.message})" if isinstance(error, NotMadeError) else NOT_HERE
        said = error.message if isinstance(error, SandglassError | jinja2.TemplateError) else error
        file = shelf.folder(paper) / (f"{figure}.yaml" if figure else shelf.ABSTRACT)
        raise UsageError(f"{file}: {{{{ {inside} }}}}: {said}") from error


def value(expression: str, paper: str, figure: str | None = None) -> Any:
    """What an expression stands for. Raises what is wrong with it, as it comes."""
    asked = jinja2.meta.find_undeclared_variables(ENVIRONMENT.parse(f"{{{{ {expression} }}}}"))
    about = shelf.paper(paper)
    figures, others = about.figures, variants.names(about.home)
    known: dict[str, Any] = {
        "span": lambda *values: Span(values),
        "min": min,
        "max": max,
        "abs": abs,
    }
    for name in asked - known.keys():
        if name in figures:
            known[name] = Numbers(paper, name)
        elif name in others:
            known[name] = InVariant(shelf.called(about.home, name))
        elif figure:
            known[name] = getattr(Numbers(paper, figure), name)
        else:
            raise ValueError(f"there is no figure {name}{nearest(name, figures)}")
    compiled = ENVIRONMENT.compile_expression(expression, undefined_to_none=False)
    return compiled(known)


def _written(number: Any, spec: str) -> str:
    if isinstance(number, str):
        return format(number, spec)
    return format(number, spec or _default(number.largest if isinstance(number, Span) else number))


def _default(number: float) -> str:
    """Three digits of a number, without an exponent."""
    if not math.isfinite(number) or number == int(number):
        return ".0f"
    return f".{max(0, DIGITS - 1 - math.floor(math.log10(abs(number))))}f"


def _expect(names: Sequence[str] | Mapping[str, Any], columns: Sequence[str]) -> None:
    for name in names:
        if name not in columns:
            raise ValueError(f"the table has no column {name}{nearest(name, columns)}")
