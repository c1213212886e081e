"""Words for what differs: better, worse or equal than another, by a margin, or undecided.

Replica r of both has the same seed (docs/statistics.md), so that what is judged is the difference
of each pair, in margins: 1 is as much as just counts. Where all values are above 0 and the margin
is a share it is made of logarithms, as a ratio is. Where the 95 % interval of the mean difference
is beyond the margin it is better or worse, where it is within it is equal, else undecided. As a
test: the p of a word is twice that of t beyond the end of the margin, and Holm's correction is over
all cells of a page (statistics.holm). What stands before the correction and not after it is likely:
it is as sure as if it were the only cell.

In a grid with fewer than 5 replicas a point's own spread says little. There the variance of the
differences, in margins, is pooled over the points of the scenario, unless Bartlett's test finds
that they differ.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import numpy.typing as npt
import polars as pl
import scipy

from sandglass.experiment.document import Value
from sandglass.studies import statistics
from sandglass.suites.suite import Margin

Side = Literal["better", "worse", "equal"]
Word = Literal[Side, "likely better", "likely worse", "likely equal", "undecided"]
WORDS: tuple[Word, ...] = (
    *("better", "likely better", "worse", "likely worse", "equal", "likely equal", "undecided"),
)
LIKELY: Mapping[Side, Word] = {
    "better": "likely better",
    "worse": "likely worse",
    "equal": "likely equal",
}
SIGNIFICANT = 0.05
POOLED_BELOW = 5
"""Replicas of a point."""
MOST_REPLICAS = 10_000
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Cell:
    """A metric at a point: the algorithm in question against another."""

    scenario: str
    point: Mapping[str, Value]
    metric: str
    against: str
    n: int
    mean: float
    """Of the algorithm in question."""
    other: float
    difference: float
    low: float | None
    high: float | None
    """Ends of the difference's 95 % interval; none of one pair."""
    margin: float
    """In the metric's unit."""
    side: Side
    """Of the margin, on which the mean difference lies."""
    p: float | None
    """That it lies on another, before Holm; none of one pair."""
    pooled: bool
    margins: float = 0
    """The mean difference in margins, above 0 what is better."""
    spread: float = 0
    """The standard deviation of that."""
    p_holm: float | None = None

    @property
    def word(self) -> Word:
        """Among all cells of the page."""
        if self.p_holm is not None and self.p_holm < SIGNIFICANT:
            return self.side
        if self.p is not None and self.p < SIGNIFICANT:
            return LIKELY[self.side]
        return "undecided"

    def needed(self, cells: int) -> int | None:
        """So many replicas would decide, as far as this spread tells; none where no number would.

        For the first of so many cells in Holm's order, which asks for most.
        """
        beyond = abs(abs(self.margins) - 1)
        if self.p is None or not beyond:
            return None
        tail = SIGNIFICANT / cells / 2
        for n in range(2, MOST_REPLICAS):
            if scipy.special.stdtrit(n - 1, 1 - tail) * self.spread / math.sqrt(n) < beyond:
                return n
        return None


def judge(
    scenario: str,
    runs: pl.DataFrame,
    axes: Sequence[str],
    axis: str,
    name: str,
    judged: Mapping[str, Margin],
) -> list[Cell]:
    """A cell for each point, metric and other algorithm of a scenario; words come with `holm`."""
    found: list[Cell] = []
    others = [each for each in runs[axis].unique(maintain_order=True) if each != name]
    places = [each for each in axes if each != axis]
    for metric, margin in judged.items():
        for other in others:
            pairs = [
                (point, _pair(own, axis, name, other, metric, point))
                for point, own in statistics.points(runs, places)
            ]
            scaled = [_in_margins(new, old, margin) for _, (new, old) in pairs]
            pooled = _pooled(scaled)
            for (point, (new, old)), each in zip(pairs, scaled, strict=True):
                found.append(_cell(scenario, point, metric, other, new, old, margin, each, pooled))
    return found


def holm(cells: Sequence[Cell]) -> list[Cell]:
    """The cells of a page, each with its p among all of them."""
    adjusted = statistics.holm([cell.p for cell in cells])
    return [replace(cell, p_holm=p) for cell, p in zip(cells, adjusted, strict=True)]


def _pair(
    own: pl.DataFrame, axis: str, name: str, other: str, metric: str, point: Mapping[str, Value]
) -> tuple[Floats, Floats]:
    new, old = (own.filter(statistics.matching(own, {axis: each})) for each in (name, other))
    return statistics.pairs(new, old, metric, point)


def _in_margins(new: Floats, old: Floats, margin: Margin) -> Floats:
    """Each pair's difference over the margin, above 0 what is better."""
    sign = 1 if margin.better == "more" else -1
    mean = float(old.mean())
    if min(new.min(), old.min()) > 0 and margin.is_share(mean):
        scale, difference = math.log1p(margin.share), np.log(new / old)
    else:
        scale, difference = margin.width(mean), new - old
    if not scale:  # no margin: whatever differs counts
        return np.where(difference == 0, 0.0, np.copysign(np.inf, sign * difference))
    found: Floats = sign * difference / scale
    return found


@dataclass(frozen=True)
class _Pool:
    """A spread that several points share."""

    sd: float
    freedom: int


def _pooled(scaled: Sequence[Floats]) -> _Pool | None:
    """The spread of all points together, where each has few replicas and none stands out."""
    spread = [each for each in scaled if np.isfinite(each).all() and each.size > 1 and np.ptp(each)]
    if len(spread) < 2 or max(each.size for each in spread) >= POOLED_BELOW:
        return None
    if scipy.stats.bartlett(*spread).pvalue < SIGNIFICANT:
        return None
    freedom = sum(each.size - 1 for each in spread)
    squares = sum(float(((each - each.mean()) ** 2).sum()) for each in spread)
    return _Pool(math.sqrt(squares / freedom), freedom)


def _cell(
    scenario: str,
    point: Mapping[str, Value],
    metric: str,
    against: str,
    new: Floats,
    old: Floats,
    margin: Margin,
    scaled: Floats,
    pool: _Pool | None,
) -> Cell:
    own = statistics.difference(new, old)
    mean = float(scaled.mean())
    varies = scaled.size > 1 and bool(np.isfinite(scaled).all()) and bool(np.ptp(scaled))
    sd, freedom = float(scaled.std(ddof=1)) if varies else 0.0, scaled.size - 1
    if varies and pool:
        sd, freedom = pool.sd, pool.freedom
    side: Side = "equal" if abs(mean) < 1 else "better" if mean > 0 else "worse"
    return Cell(
        scenario=scenario,
        point=point,
        metric=metric,
        against=against,
        n=scaled.size,
        mean=float(new.mean()),
        other=float(old.mean()),
        difference=own.mean,
        low=own.low,
        high=own.high,
        margin=margin.width(float(old.mean())),
        side=side,
        p=_p(mean, sd, scaled.size, freedom),
        pooled=varies and pool is not None,
        margins=mean,
        spread=sd,
    )


def _p(mean: float, sd: float, n: int, freedom: int) -> float | None:
    """Twice the chance of such a mean, were the truth at the nearer end of the margin."""
    if n < 2:
        return None
    beyond = abs(abs(mean) - 1)
    if not sd:
        return 0.0 if beyond else 1.0
    return float(2 * scipy.special.stdtr(freedom, -beyond * math.sqrt(n) / sd))
