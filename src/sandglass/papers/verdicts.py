"""What a paper claims, as bounds on metrics of a figure's table: its folder's expect.yaml.

A claim is judged from the table behind the figure and nothing else, so that whoever has the table
can judge again. A metric that is missing or has no value is an error, never a pass or a fail.
"""

import inspect
import math
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

import polars as pl
from pydantic import BaseModel, Field

from sandglass.errors import SandglassError, UsageError
from sandglass.papers import grid, shelf
from sandglass.studies.claims import Bounds, Kind

Metric = Callable[..., float | None]
"""Takes the figure's table and a claim's arguments; gives one number, None when it has none."""

Outcome = Literal["pass", "fail", "not judged"]

DIGITS = 12
"""Of a measured value. Polars forms groups in another order each time, so that the last digits of a
mean over them differ between judgements of one table."""


class Claim(shelf.Strict):
    """One claim of the paper about one figure."""

    id: str
    quote: str
    """The paper's own words."""
    where: str
    """The section, caption or footnote that holds them."""
    kind: Kind
    """Whether the bound is stated, derived from what is stated, or our re-design."""
    statement: str
    """What is measured, in words, and how the quote was turned into the bound."""
    metric: str
    """The name of a function among the figure's METRICS."""
    arguments: dict[str, Any] = Field(default_factory=dict)
    bounds: Bounds
    unit: str = ""
    profiles: list[str] = Field(default_factory=lambda: list(grid.PROFILES))
    """The profiles whose runs are long and many enough to judge it."""
    explanation: str = ""
    """Markdown; why it fails, when it does."""

    @property
    def expected(self) -> str:
        return f"{self.statement}: {self.bounds}{self.unit and ' ' + self.unit}"


class Expectations(shelf.Strict):
    """A paper's expect.yaml."""

    figures: dict[str, Annotated[list[Claim], Field(min_length=1)]]


class Verdict(BaseModel):
    """One row of verdicts.csv. `measured` is empty where the profile does not judge the claim."""

    paper: str
    figure: str
    claim: str
    quote: str
    kind: Kind
    expected: str
    measured: float | None
    verdict: Outcome
    explanation: str


def claims(paper: str, figure: str) -> list[Claim]:
    """The claims about a figure. Raises UsageError for a malformed file, or when there is none."""
    path = shelf.folder(paper) / shelf.CLAIMS
    found = shelf.parse(path, Expectations).figures.get(figure, [])
    if not found:
        raise UsageError(f"{path}: {figure} has no claim", "every figure carries its verdict")
    ids = [claim.id for claim in found]
    if twice := {name for name in ids if ids.count(name) > 1}:
        raise UsageError(f"{path}: {figure} has two claims called {', '.join(sorted(twice))}")
    return found


def judge(
    claims: Sequence[Claim],
    table: pl.DataFrame,
    metrics: Iterable[Metric],
    *,
    paper: str,
    figure: str,
    profile: str,
) -> list[Verdict]:
    """A verdict for every claim, in their order.

    Raises SandglassError, naming every claim concerned, when a metric does not exist, does not
    take the claim's arguments, or has no value in the table.
    """
    known = {metric.__name__: metric for metric in metrics}
    verdicts: list[Verdict] = []
    errors: list[str] = []
    for claim in claims:
        measured: float | None = None
        outcome: Outcome = "not judged"
        try:
            metric = _metric(claim, known)
            if profile in claim.profiles:
                measured = _measure(claim, metric, table)
                outcome = "pass" if claim.bounds.hold(measured) else "fail"
        except SandglassError as error:
            errors.append(f"{figure}: claim {claim.id}: {error.message}")
            continue
        verdicts.append(
            Verdict(
                paper=paper,
                figure=figure,
                claim=claim.id,
                quote=claim.quote,
                kind=claim.kind,
                expected=claim.expected,
                measured=measured,
                verdict=outcome,
                explanation=claim.explanation if outcome == "fail" else "",
            )
        )
    if errors:
        raise SandglassError("\n".join(errors))
    return verdicts


def scalar(value: object) -> float | None:
    """A polars reduction as a metric's number: of an empty series it is None, as it should be."""
    return float(value) if isinstance(value, int | float) else None


def frame(verdicts: Sequence[Verdict]) -> pl.DataFrame:
    """The verdicts as a table, the columns in the order of `Verdict`."""
    schema = dict.fromkeys(Verdict.model_fields, pl.String) | {"measured": pl.Float64}
    return pl.DataFrame([verdict.model_dump() for verdict in verdicts], schema=schema)


def read(path: Path) -> list[Verdict]:
    """The rows of a verdicts.csv."""
    table = pl.read_csv(path, schema=frame([]).schema).with_columns(pl.col(pl.String).fill_null(""))
    return [Verdict.model_validate(row) for row in table.to_dicts()]


def summary(verdicts: Sequence[Verdict]) -> str:
    """For the terminal: a line per figure with its numbers of verdicts, one per failed claim."""
    lines: list[str] = []
    for figure in dict.fromkeys(verdict.figure for verdict in verdicts):
        own = [verdict for verdict in verdicts if verdict.figure == figure]
        counts = {name: sum(v.verdict == name for v in own) for name in get_args(Outcome)}
        lines.append(f"{figure}: {', '.join(f'{n} {name}' for name, n in counts.items() if n)}")
        lines += [
            f"  fail: {v.claim}: {v.expected}; measured {v.measured:.4g}"
            for v in own
            if v.verdict == "fail"
        ]
    return "\n".join(lines)


def _metric(claim: Claim, known: dict[str, Metric]) -> Metric:
    metric = known.get(claim.metric)
    if metric is None:
        raise SandglassError(
            f"no metric {claim.metric}; the figure has {', '.join(known) or 'none'}"
        )
    try:
        inspect.signature(metric).bind(None, **claim.arguments)
    except TypeError as error:
        raise SandglassError(f"metric {claim.metric}: {error}") from error
    return metric


def _measure(claim: Claim, metric: Metric, table: pl.DataFrame) -> float:
    try:
        value = metric(table, **claim.arguments)
    except pl.exceptions.PolarsError as error:
        raise SandglassError(f"metric {claim.metric}: {error}") from error
    if value is None or not math.isfinite(value):
        raise SandglassError(f"metric {claim.metric} has no value in the figure's table ({value})")
    return float(f"{value:.{DIGITS}g}")
