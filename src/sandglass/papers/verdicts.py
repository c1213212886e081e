"""Verdicts on a paper's claims: each holds, fails, or is open.

A claim is judged from the table behind the figure and nothing else, so that whoever has the table
can judge again. A metric that is missing or has no value is an error, never a verdict.
"""

import inspect
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, NamedTuple, Protocol, get_args

import polars as pl
from typing_extensions import Self

from sandglass.errors import SandglassError
from sandglass.papers import ensemble
from sandglass.papers.sentences import Claim, Sentence
from sandglass.studies import statistics
from sandglass.studies import verdict as studies_verdict
from sandglass.studies.bounds import Kind, Outcome
from sandglass.studies.statistics import TAIL, Interval


class Extreme(NamedTuple):
    """The least or the largest of several points, as a metric gives it: a value for each."""

    of: Callable[[Iterable[float]], float]
    """`min` or `max`."""
    values: dict[tuple[object, ...], float]

    @property
    def value(self) -> float:
        return self.of(self.values.values())


Found = float | Extreme | list[float] | None
"""One number, which may be the extreme of several points; a list where the table itself has several
runs, of each its number; None or an empty list where there is none."""
Metric = Callable[..., Found]
"""Takes the figure's table and a claim's arguments."""


class NoValueError(SandglassError):
    """A metric that has no value in a table."""


class Measure(Protocol):
    """What is measured: a metric with its arguments, as a claim names it."""

    @property
    def metric(self) -> str:
        """Its name."""

    @property
    def arguments(self) -> Mapping[str, Any]:
        """What it is called with, besides the table."""


Word = Outcome | Literal["not judged"]
WORDS: tuple[Word, ...] = (*get_args(Outcome), "not judged")

DIGITS = 12
"""Of a measured value. Polars forms groups in another order each time, so that the last digits of a
mean over them differ between judgements of one table."""
ENSEMBLE = 39
"""Replicas between whose least and largest one more lies with a probability of 95 %."""


class Verdict(studies_verdict.Verdict):
    """One row of verdicts.csv. Nothing is measured where the profile does not judge the claim.

    Of a plotted value the ends are those between which the central 95 % of ours are; of an extreme
    n is that of the point that is it.
    """

    paper: str
    figure: str
    sentence: Sentence
    kind: Kind
    quantile: float | None = None
    """Of a plotted value: the share of ours that are below it."""
    verdict: Word = "not judged"
    amended: str = ""
    """Bounds that it had before, with their outcomes and why they were changed."""
    isolated: str = ""

    @classmethod
    def columns(cls) -> pl.Schema:
        """As a study's, behind what tells the claim."""
        types = super().columns()
        told = ("paper", "figure", "claim", "sentence")
        return pl.Schema({name: types[name] for name in (*told, *types)})

    @property
    def ends(self) -> str:
        """Those of a plotted value are of the runs, not of their mean."""
        return "" if self.quantile is None else "are 95 % of ours, "

    @classmethod
    def on(cls, claim: Claim, paper: str, figure: str, found: Mapping[str, Any]) -> Self:
        """The verdict on a claim, of what was found; nothing where it was not judged."""
        wrong = found.get("verdict") in ("fails", "open")
        return cls(
            paper=paper,
            figure=figure,
            claim=claim.id,
            sentence=claim.sentence,
            kind=claim.kind,
            quote=claim.quote,
            where=claim.where,
            expected=claim.expected,
            amended="; ".join(
                f"{each.date}: was {each.was}, {each.outcome}; {each.reason}"
                for each in claim.amended
            ),
            explanation=claim.explanation if wrong else "",
            isolated=claim.isolated if wrong else "",
            **found,
        )


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
    whole, parts = ensemble.replicas(table), ensemble.replicas(table, parts=True)
    verdicts: list[Verdict] = []
    errors: list[str] = []
    for claim in claims:
        found: dict[str, Any] = {}
        try:
            metric = function(claim, known)
            if profile in claim.profiles:
                found = _judged(claim, metric, whole, parts if claim.replicas == "all" else [])
        except SandglassError as error:
            errors.append(f"{figure}: claim {claim.id}: {error.message}")
            continue
        verdicts.append(Verdict.on(claim, paper, figure, found))
    if errors:
        raise SandglassError("\n".join(errors))
    return verdicts


def scalar(value: object) -> float | None:
    """A polars reduction as a metric's number: of an empty series it is None, as it should be."""
    return float(value) if isinstance(value, int | float) else None


def least(points: pl.DataFrame, value: str) -> Extreme | None:
    """The least of a column as a metric; a row is a point, told apart by the other columns.

    With replicas it is the least of the points' means, with its interval (statistics.least): the
    least of each replica would be lower the noisier they are.
    """
    return _extreme(min, points, value)


def largest(points: pl.DataFrame, value: str) -> Extreme | None:
    """The largest of a column, as `least` has it."""
    return _extreme(max, points, value)


def farthest(points: pl.DataFrame, value: str) -> Extreme | None:
    """The largest distance of a column from 0, either way, as `least` has it."""
    both = [points.with_columns(pl.col(value) * way, pl.lit(way).alias("way")) for way in (1, -1)]
    return largest(pl.concat(both), value)


def _extreme(
    of: Callable[[Iterable[float]], float], points: pl.DataFrame, value: str
) -> Extreme | None:
    """Of rows without any value there is none."""
    known = points.drop_nulls(value)
    if known.is_empty():
        return None
    keys = known.drop(value).rows() if known.width > 1 else [()] * known.height
    values = dict(zip(keys, known[value].to_list(), strict=True))
    if len(values) < known.height:
        raise SandglassError(f"{value}: two rows are the same point")
    return Extreme(of, values)


def counts(verdicts: Iterable[Verdict]) -> dict[Word, int]:
    """How many there are of each outcome; those of which there is none are left out."""
    words = [verdict.verdict for verdict in verdicts]
    return {word: words.count(word) for word in WORDS if word in words}


def summary(verdicts: Sequence[Verdict]) -> str:
    """For the terminal: a line per figure with its numbers of claims, one per failed or open one.

    Checks and findings are counted beside them.
    """
    lines: list[str] = []
    for figure in dict.fromkeys(verdict.figure for verdict in verdicts):
        told = []
        for sentence in get_args(Sentence):
            own = [v for v in verdicts if (v.figure, v.sentence) == (figure, sentence)]
            if own:
                said = ", ".join(f"{n} {word}" for word, n in counts(own).items())
                told.append(said if sentence == "claim" else f"{sentence}s: {said}")
        lines.append(f"{figure}: {'; '.join(told)}")
        lines += [
            f"  {v.verdict}: {v.claim}: {v.expected}; measured {v.result}"
            for v in verdicts
            if v.figure == figure and v.verdict in ("fails", "open")
        ]
    return "\n".join(lines)


def function(claim: Measure, known: dict[str, Metric]) -> Metric:
    """A metric's function. Raises SandglassError where there is none that takes the arguments."""
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


def _judged(
    claim: Claim, metric: Metric, whole: Sequence[pl.DataFrame], parts: Sequence[pl.DataFrame]
) -> dict[str, Any]:
    """What is measured, and the outcome, as a Verdict has them."""
    values, n, found = measured(claim, metric, whole, parts)
    row: dict[str, Any] = {"n": n, "measured": _rounded(found.mean)}
    if claim.plotted is not None:
        return row | _like_ours(claim.plotted, values)
    assert claim.bounds
    ends = {"low": found.low, "high": found.high}
    row |= {name: end if end is None else _rounded(end) for name, end in ends.items()}
    return row | {"verdict": claim.bounds.judge(found)}


def measured(
    what: Measure, metric: Metric, whole: Sequence[pl.DataFrame], parts: Sequence[pl.DataFrame]
) -> tuple[list[float], int, Interval]:
    """The values of replicas in order, how many they are, and their mean with its interval.

    Of replicas with only some of the points (`parts`), those count that have the metric's. Raises
    SandglassError where a replica has no value.
    """
    each = [value for table in whole for value in _measure(what, metric, table)]
    more = (_found(what, metric, table) for table in parts)
    each += [value for found in more if found not in (None, []) for value in _known(what, found)]
    extremes = [value for value in each if isinstance(value, Extreme)]
    values = sorted(value.value if isinstance(value, Extreme) else value for value in each)
    if extremes:
        return values, *_over_points(extremes, len(whole))
    return values, len(values), statistics.interval(values)


def _over_points(replicas: Sequence[Extreme], whole: int) -> tuple[int, Interval]:
    """The extreme of the points' means with its interval, and how many replicas that point has.

    The first `whole` of the replicas have all points, the others at least one. Raises
    SandglassError where a replica has other points than the first.
    """
    points = replicas[0].values.keys()
    if any(each.values.keys() != points for each in replicas[:whole]) or any(
        each.values.keys() - points for each in replicas
    ):
        raise SandglassError("replicas have values at different points")
    own = [[each.values[point] for each in replicas if point in each.values] for point in points]
    means = [math.fsum(values) / len(values) for values in own]
    of = replicas[0].of
    deciding = own[means.index(of(means))]
    return len(deciding), (statistics.least if of is min else statistics.largest)(own)


def _like_ours(plotted: float, values: Sequence[float]) -> dict[str, Any]:
    """Whether one more run with the value would be among the central 95 % of sorted ones."""
    below = sum(value < plotted for value in values)
    equal = sum(value == plotted for value in values)
    row: dict[str, Any] = {"quantile": _rounded((below + equal / 2) / len(values))}
    if len(values) < ENSEMBLE:
        return row | {"verdict": "open"}
    rank = math.floor((len(values) + 1) * TAIL)
    low, high = values[rank - 1], values[-rank]
    word: Word = "holds" if low <= plotted <= high else "fails"
    return row | {"low": low, "high": high, "verdict": word}


def _measure(claim: Measure, metric: Metric, table: pl.DataFrame) -> Sequence[float | Extreme]:
    """What a table has for a claim: of each of its runs, if the metric tells them apart."""
    return _known(claim, _found(claim, metric, table))


def _found(claim: Measure, metric: Metric, table: pl.DataFrame) -> Found:
    try:
        return metric(table, **claim.arguments)
    except (pl.exceptions.PolarsError, SandglassError) as error:
        said = error.message if isinstance(error, SandglassError) else error
        raise SandglassError(f"metric {claim.metric}: {said}") from error


def _known(claim: Measure, found: Found) -> Sequence[float | Extreme]:
    """The values that were found, as numbers. Raises SandglassError where there is none."""
    if isinstance(found, Extreme):
        _finite(claim, found.value)
        return [found]
    several = found if isinstance(found, list) and found else [found]
    return [_finite(claim, value) for value in several]


def _finite(claim: Measure, value: object) -> float:
    if not isinstance(value, int | float) or not math.isfinite(value):
        raise NoValueError(f"metric {claim.metric} has no value in the figure's table ({value})")
    return _rounded(value)


def _rounded(value: float) -> float:
    return float(f"{value:.{DIGITS}g}")
