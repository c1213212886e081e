"""How much depends on each parameter of an algorithm: elasticities (re-design).

A metric m of a parameter halved and doubled has the elasticity ln(m(2x) / m(x/2)) / ln 4: with 1
the metric doubles when the parameter does, with 0 nothing depends on it. One value for each pair of
replicas of a seed; its interval is that of their mean.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from sandglass.studies import statistics
from sandglass.studies.statistics import Interval, named

HALF, DOUBLE = "half", "double"
INSENSITIVE = 0.1


@dataclass(frozen=True)
class Elasticity:
    """Of a metric, to an option."""

    option: str
    metric: str
    place: str
    n: int
    value: Interval | None
    """None where the metric is not above 0."""

    @property
    def word(self) -> str:
        """By the whole interval."""
        if self.value is None:
            return "a value is 0"
        ends = [self.value.mean if end is None else end for end in self.value[1:]]
        if max(map(abs, ends)) < INSENSITIVE:
            return "insensitive"
        apart = min(ends) > INSENSITIVE or max(ends) < -INSENSITIVE
        return "sensitive" if apart else "undecided"


def label(option: str, word: str) -> str:
    """What an option halved or doubled is called on the axis."""
    return f"{option} {word}"


def elasticities(
    runs: pl.DataFrame, axes: Sequence[str], axis: str, metrics: Sequence[str]
) -> Iterator[Elasticity]:
    """Those of every option that the runs have halved and doubled."""
    labels = set(runs[axis])
    options = [each.removesuffix(f" {HALF}") for each in runs[axis].unique(maintain_order=True)]
    places = [each for each in axes if each != axis]
    for option in options:
        if not {label(option, HALF), label(option, DOUBLE)} <= labels:
            continue
        for point, own in statistics.points(runs, places):
            half, double = (
                own.filter(pl.col(axis) == label(option, word)) for word in (HALF, DOUBLE)
            )
            for metric in metrics:
                new, old = statistics.pairs(double, half, metric, point)
                value = None
                if min(new.min(), old.min()) > 0:
                    value = statistics.interval(np.log(new / old) / math.log(4))
                place = named(point) if point else ""
                yield Elasticity(option, metric, place, new.size, value)
