"""What the replicas of a study say together: means with their intervals, and paired differences.

The replica is the unit that is counted, never the packet. docs/statistics.md says why an interval
is made as it is.
"""

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Annotated, Any, NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl
import scipy
from pydantic import AfterValidator, Field

from sandglass.errors import SandglassError
from sandglass.experiment import units
from sandglass.experiment.document import Value
from sandglass.experiment.part import Part
from sandglass.studies.points import MOST, text

CONFIDENCE = 0.95
TAIL = (1 - CONFIDENCE) / 2
BOOTSTRAP_FROM = 20
"""Replicas; of fewer the interval is Student's."""
RESAMPLES = 4999
SEED = 1
"""Of the bootstrap's draws: the same values give the same interval."""

FLOATS = frozenset(
    [
        *["mean", "sd", "median", "low", "high"],
        *["ratio", "ratio_low", "ratio_high", "correlation", "gain", "p", "p_holm"],
    ]
)
"""Columns that may have no value in any row."""

COLUMNS = ("replica", "seed", "digest", "virtual_s", "wall_s", "directory")
"""Of runs.csv, what is neither an axis nor a metric."""

ALIKE_HINT = "let something differ as on a testbed: noise: testbed, rtt_spread, start_within"

Floats = npt.NDArray[np.float64]


class Interval(NamedTuple):
    """A mean with the ends of its 95 % interval, which a single value has not."""

    mean: float
    low: float | None
    high: float | None

    @property
    def half_width(self) -> float:
        """Half of the interval's length; infinite where there is none."""
        if self.low is None or self.high is None:
            return math.inf
        return (self.high - self.low) / 2


def _within(value: str | float) -> str | float:
    if isinstance(value, str):
        if not re.fullmatch(r"\s*\d{1,2}(\.\d{1,6})?\s*%\s*", value):
            raise ValueError(
                f"{units.shown(value)} is not how narrow: write a share of the mean, such as 5%, "
                "or a number in the metric's unit"
            )
        share = float(value.strip(" %"))
    else:
        share = value
    if not share > 0:
        raise ValueError(f"{units.shown(value)} is never reached: write more than 0")
    return value


class Rule(Part):
    """Replicas are added until a metric's interval is narrow enough at every point."""

    of: str
    """The metric."""
    within: Annotated[str | float, AfterValidator(_within)] = Field(examples=["5%"])
    """Half the interval: a share of the mean, such as 5%, or a number in the metric's unit."""
    most: Annotated[int, Field(ge=2, le=MOST)] = 30
    """So many at most."""

    def allowed(self, mean: float) -> float:
        """Half the interval that is narrow enough, in the metric's unit."""
        if isinstance(self.within, str):
            return float(self.within.strip(" %")) / 100 * abs(mean)
        return self.within


def jain(values: Sequence[float]) -> float:
    """Jain's fairness index, 1/n to 1 (DEC-TR-301, 1984). Raises ValueError where all are 0."""
    squares = math.fsum(value * value for value in values)
    if squares == 0:
        raise ValueError("jain of values that are all 0")
    return math.fsum(values) ** 2 / (len(values) * squares)


def interval(values: Iterable[float]) -> Interval:
    """The mean of replicas with its 95 % interval; in whatever order they come, the same.

    Student's t of fewer than 20 values; from 20 on bootstrap-t (Efron 1981; Hesterberg 2015), which
    follows a skewed distribution. Raises SandglassError without a value, or where one is no number.
    """
    ordered = np.sort(np.asarray(list(values), np.float64))
    if not ordered.size or not np.isfinite(ordered).all():
        raise SandglassError(f"no mean of {ordered.tolist()}")
    mean = math.fsum(ordered) / ordered.size
    if ordered.size == 1:
        return Interval(mean, None, None)
    if ordered[0] == ordered[-1]:
        return Interval(mean, mean, mean)
    error = float(ordered.std(ddof=1)) / math.sqrt(ordered.size)
    tails = _student(ordered.size)
    if ordered.size >= BOOTSTRAP_FROM:
        drawn = _bootstrap(ordered)
        tails = drawn if np.isfinite(drawn).all() else tails
    return Interval(mean, mean - tails[1] * error, mean - tails[0] * error)


def least(points: Iterable[Iterable[float]]) -> Interval:
    """The least of some points' means with its 95 % interval; each point has its replicas.

    Which point is the least is found from the same replicas. Its lower end is that of a point's own
    interval: whichever is the least, its own end is below its mean in 97.5 % of cases, and the
    least of all ends is no higher. The upper end is that of intervals at 1 - 0.05 / points
    (Bonferroni), whose upper ends are all above their means in as many cases. All are Student's.
    """
    known = [list(values) for values in points]
    means = [math.fsum(values) / len(values) for values in known]
    if any(len(values) == 1 for values in known):
        return Interval(min(means), None, None)
    errors = [float(np.std(values, ddof=1)) / math.sqrt(len(values)) for values in known]
    lower, upper = (
        [
            mean + sign * _student(len(values), tail)[1] * error
            for mean, values, error in zip(means, known, errors, strict=True)
        ]
        for sign, tail in ((-1, TAIL), (1, TAIL / len(known)))
    )
    return Interval(min(means), min(lower), min(upper))


def largest(points: Iterable[Iterable[float]]) -> Interval:
    """The largest of some points' means with its 95 % interval, as `least` has it."""
    found = least([[-value for value in values] for values in points])
    low, high = (None if end is None else -end for end in (found.high, found.low))
    return Interval(-found.mean, low, high)


def _student(n: int, tail: float = TAIL) -> tuple[float, float]:
    upper = float(scipy.special.stdtrit(n - 1, 1 - tail))
    return -upper, upper


def _bootstrap(values: Floats) -> tuple[float, float]:
    """The quantiles of t, (mean* - mean) / its standard error*, over resamples of the values.

    Not finite where too many resamples are of one value only.
    """
    mean, root = values.mean(), math.sqrt(values.size)

    def t(drawn: Floats, axis: int) -> Floats:
        # the deviation of equal numbers is not 0 but that of their mean's last digit
        spread = np.where(np.ptp(drawn, axis=axis) > 0, drawn.std(axis, ddof=1), 0)
        found: Floats = (drawn.mean(axis) - mean) * root / spread
        return found

    with np.errstate(divide="ignore", invalid="ignore"):
        resampled = scipy.stats.bootstrap(
            (values,),
            t,
            n_resamples=RESAMPLES,
            method="percentile",
            rng=np.random.default_rng(SEED),
        )
    found = np.quantile(resampled.bootstrap_distribution, [TAIL, 1 - TAIL], method="nearest")
    return float(found[0]), float(found[1])


def enough(values: Sequence[float], rule: Rule) -> bool:
    """Whether a point's replicas of the rule's metric have an interval as narrow as it asks for."""
    found = interval(values)
    return found.half_width <= rule.allowed(found.mean)


def summary(
    runs: pl.DataFrame, axes: Sequence[str], metrics: Sequence[str], rule: Rule | None = None
) -> pl.DataFrame:
    """One row per point and metric: what its replicas have on average, and how sure that is.

    Columns: the axes, metric, n, mean, sd (null of one run), median, low and high of the mean's
    95 % interval (null of one run), and with a `rule` reached, which is null of other metrics.
    Replicas that are `copies` are one run. Points are in the order of `runs`. Raises
    SandglassError, naming the point, where a run has no number for a metric.
    """
    rows: list[dict[str, Any]] = []
    for point, every in points(runs, axes):
        own = every.head(1) if copies(every) else every
        for metric in metrics:
            values = numbers(own, metric, point)
            found = interval(values)
            row: dict[str, Any] = {
                **point,
                "metric": metric,
                "n": values.size,
                "mean": found.mean,
                "sd": _deviation(values),
                "median": float(np.median(values)),
                "low": found.low,
                "high": found.high,
            }
            if rule:
                said = metric == rule.of and not copies(every)
                row["reached"] = enough(values.tolist(), rule) if said else None
            rows.append(row)
    return _frame(rows, runs, axes)


def _deviation(values: Floats) -> float | None:
    """The standard deviation; that of equal numbers is 0, not their mean's last digit."""
    if values.size < 2:
        return None
    return float(values.std(ddof=1)) if np.ptp(values) else 0.0


def copies(point: pl.DataFrame) -> bool:
    """Whether a point's replicas are one run, several times: all that is measured is equal."""
    return point.height > 1 and point.drop(COLUMNS, strict=False).unique().height == 1


def alike(runs: pl.DataFrame, axes: Sequence[str]) -> str:
    """Where the replicas of a point are `copies`, in words; else nothing."""
    equal = [copies(own) for _, own in points(runs, axes)]
    if not any(equal):
        return ""
    if all(equal):
        return "all replicas of a point are equal: nothing that is measured depends on the seed"
    some = f"at {sum(equal)} of {len(equal)} points all replicas are equal"
    return f"{some}: nothing that is measured there depends on the seed"


def differences(
    runs: pl.DataFrame, axes: Sequence[str], metrics: Sequence[str], axis: str, against: Value
) -> pl.DataFrame:
    """What each label of an axis has more than the one it is compared with, by pairs of replicas.

    Replica r has the same seed at every point, so that what the seed decides cancels in the
    difference of a pair. Columns: the axes, metric, against, n (pairs), mean, low and high of the
    difference and its 95 % interval; ratio, ratio_low and ratio_high, the same of the logarithms
    (null where a value is not positive); correlation of the two; gain, how many times as many
    unpaired replicas would have been needed (both null without spread); p, of the paired t-test,
    and p_holm, adjusted for all rows of the table (Holm 1979; null of one pair).
    """
    rows: list[dict[str, Any]] = []
    others = [name for name in axes if name != axis]
    for place, own in points(runs, others):
        base = own.filter(matching(own, {axis: against}))
        labels = own.filter(~matching(own, {axis: against}))
        for label, theirs in points(labels, [axis]):
            for metric in metrics:
                new, old = pairs(theirs, base, metric, place | label)
                row = {**place, **label, "metric": metric, "against": text(against)}
                rows.append(row | _compared(new, old))
    order = [name for name in axes if name in (rows[0] if rows else ())]
    for each, adjusted in zip(rows, holm([row["p"] for row in rows]), strict=True):
        each["p_holm"] = adjusted
    return _frame(rows, runs, order)


def _compared(new: Floats, old: Floats) -> dict[str, Any]:
    difference = new - old
    found = interval(difference)
    by_ratio = ratio(new, old) if min(new.min(), old.min()) > 0 else (None, None, None)
    spread = new.min() < new.max() and old.min() < old.max()
    varies = difference.min() < difference.max()
    return {
        "n": difference.size,
        "mean": found.mean,
        "low": found.low,
        "high": found.high,
        "ratio": by_ratio[0],
        "ratio_low": by_ratio[1],
        "ratio_high": by_ratio[2],
        "correlation": float(np.corrcoef(new, old)[0, 1]) if spread else None,
        "gain": float((new.var(ddof=1) + old.var(ddof=1)) / difference.var(ddof=1))
        if varies
        else None,
        "p": _p(difference),
    }


def _p(difference: Floats) -> float | None:
    """Of the two-sided paired t-test that the mean difference is 0."""
    if difference.size < 2:
        return None
    if difference.min() == difference.max():
        return 1.0 if difference[0] == 0 else 0.0
    t = difference.mean() * math.sqrt(difference.size) / difference.std(ddof=1)
    return float(2 * scipy.special.stdtr(difference.size - 1, -abs(t)))


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """The values adjusted so that the chance of any false one among all is bounded (Holm 1979)."""
    known = sorted((p, index) for index, p in enumerate(p_values) if p is not None)
    adjusted: list[float | None] = [None] * len(p_values)
    largest = 0.0
    for rank, (p, index) in enumerate(known):
        largest = max(largest, min(1.0, p * (len(known) - rank)))
        adjusted[index] = largest
    return adjusted


def difference(new: Floats, old: Floats) -> Interval:
    """The mean of the pairs' differences with its interval."""
    return interval(new - old)


def ratio(new: Floats, old: Floats) -> Interval:
    """The geometric mean of the pairs' ratios with its interval, made on logarithms."""
    found = interval(np.log(new / old))
    low, high = (None if end is None else math.exp(end) for end in (found.low, found.high))
    return Interval(math.exp(found.mean), low, high)


def pairs(
    new: pl.DataFrame, old: pl.DataFrame, metric: str, point: Mapping[str, Value]
) -> tuple[Floats, Floats]:
    """A metric of the replicas that two points have in common; one pair, where both have copies.

    Raises SandglassError without any.
    """
    own, other = (side.select("replica", metric) for side in (new, old))
    both = own.join(other, on="replica", suffix="_old").sort("replica")
    if both.is_empty():
        raise SandglassError(f"{named(point)} has no replica to compare {metric} with")
    if copies(new) and copies(old):
        both = both.head(1)
    return numbers(both, metric, point), numbers(both, f"{metric}_old", point)


def points(
    runs: pl.DataFrame, axes: Sequence[str]
) -> Iterator[tuple[dict[str, Value], pl.DataFrame]]:
    """Each point with its runs, in the order in which they begin; without axes all are one."""
    if not axes:
        yield {}, runs
        return
    for values, own in runs.group_by(axes, maintain_order=True):
        yield dict(zip(axes, values, strict=True)), own


def matching(table: pl.DataFrame, point: Mapping[str, Value]) -> pl.Expr:
    """The rows of a point; a number that a file's text gives is the number of the table."""
    same = [
        pl.col(axis) == (float(value) if isinstance(value, str) else value)
        if table.schema[axis].is_numeric()
        else pl.col(axis).cast(pl.String) == text(value)
        for axis, value in point.items()
    ]
    return pl.all_horizontal(pl.lit(True), *same)


def numbers(runs: pl.DataFrame, metric: str, point: Mapping[str, Value]) -> Floats:
    """A metric of runs. Raises SandglassError where one has no number."""
    values = runs[metric].cast(pl.Float64).to_numpy()
    if not np.isfinite(values).all():
        replica = runs["replica"][int(np.flatnonzero(~np.isfinite(values))[0])]
        raise SandglassError(f"{metric} of {named(point)}, replica {replica}, is not a number")
    return values


def named(point: Mapping[str, Value]) -> str:
    """A point in words: queue CoDel, rtt 20ms."""
    return ", ".join(f"{axis} {value}" for axis, value in point.items()) or "the study"


def _frame(rows: list[dict[str, Any]], runs: pl.DataFrame, axes: Sequence[str]) -> pl.DataFrame:
    """The rows as a table whose axes are of the types that they have in `runs`."""
    types: dict[str, Any] = {axis: runs.schema[axis] for axis in axes}
    types |= dict.fromkeys(FLOATS.intersection(*rows[:1]), pl.Float64)
    return pl.DataFrame(rows, schema_overrides=types, infer_schema_length=None)
