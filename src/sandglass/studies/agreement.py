"""What a study asks of its points: whether they can answer is known before the first run."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import polars as pl

from sandglass.errors import SandglassError
from sandglass.experiment.document import Value
from sandglass.experiment.problems import KeyPath, Problem
from sandglass.experiment.values import DEFAULT_RECORDS, RECORDS
from sandglass.studies import quantity
from sandglass.studies.claims import Expect
from sandglass.studies.metric import Aggregate
from sandglass.studies.plot import Against, Box, Cdf, Differences, Entry, Rows, TimeSeries
from sandglass.studies.points import product, text
from sandglass.studies.statistics import named
from sandglass.studies.study import Study

READ = {"queue_delay": "packets", "rate": "packets", "cwnd": "acks"}
"""The table that each series and distribution is made of."""

Labels = Mapping[str, Value]


def problems(study: Study) -> Iterator[Problem]:
    """What no point of the study has; all names are of axes, labels and metrics that there are."""
    points = [point.labels for point in product(study.factors)]
    for at, table in _tables(study):
        if table in RECORDS and any(table not in recorded for recorded in _recorded(study)):
            yield at, f"the experiment does not record {table}: name it in its `record`"
    if study.compare:
        for said in _uncompared(points, study.compare.axis, study.compare.against):
            yield ("compare",), said
    for number, plot in enumerate(study.plots):
        if isinstance(plot, Differences):
            ((axis, against),) = plot.against.items()
            for said in _uncompared(points, axis, against):
                yield ("plots", number, "against"), said
        if isinstance(plot, Against) and plot.log in ("x", "both"):
            for said in _without_logarithm(plot, study.labels[plot.x]):
                yield ("plots", number, "log"), said
        for said in _crowded(plot, study.labels, points):
            yield ("plots", number), said
    for number, expect in enumerate(study.expects):
        for key, said in _unjudged(expect, points):
            yield ("expect", number, key), said


def asked(study: Study) -> set[str]:
    """The metrics that the study's parts name: which a module has is known when it has measured."""
    found = {expect.metric for expect in study.expects}
    for plot in study.plots:
        found |= {name for _, kind, name in plot.names() if kind == "metric"}
    return found | ({study.rule.of} if study.rule else set())


def _tables(study: Study) -> Iterator[tuple[KeyPath, str]]:
    """Which tables of the runs are read, and where the file says so."""
    for name, metric in study.metrics.items():
        if isinstance(metric, Aggregate):
            yield ("metrics", name, "table"), metric.table
    for number, plot in enumerate(study.plots):
        at: KeyPath = ("plots", number)
        if isinstance(plot, TimeSeries):
            yield (*at, "series"), READ[plot.series]
        elif isinstance(plot, Cdf) and isinstance(plot.cdf, Rows):
            yield (*at, "cdf", "table"), plot.cdf.table
        elif isinstance(plot, Cdf) and plot.cdf in READ:
            yield (*at, "cdf"), READ[plot.cdf]


def _recorded(study: Study) -> list[Sequence[str]]:
    """What the points record, each list once; one that is no list is told as the experiment's."""
    base = study.experiment.get("record", list(DEFAULT_RECORDS))
    found: list[Sequence[str]] = []
    for point in product(study.factors):
        own = point.overrides.get("record", base)
        if isinstance(own, list) and own not in found:
            found.append(own)
    return found


def _uncompared(points: Sequence[Labels], axis: str, against: Value) -> Iterator[str]:
    """Why an axis' labels cannot be compared with one of them."""
    if len({text(point[axis]) for point in points}) < 2:
        yield f"{axis} has no other label to compare"
        return
    places = _places(points, axis)
    alone = [place for place, labels in places if text(against) not in labels]
    if all(len(labels) < 2 for _, labels in places):
        yield f"no two points differ in {axis} alone: it goes in step with other axes"
    elif alone:
        yield f"there is no point {axis} {text(against)} to compare with at {named(alone[0])}"


def _places(points: Iterable[Labels], axis: str) -> list[tuple[Labels, list[str]]]:
    """The places on all other axes, each with the labels that there are on this one."""
    found: dict[tuple[str, ...], tuple[Labels, list[str]]] = {}
    for point in points:
        place = {name: label for name, label in point.items() if name != axis}
        key = tuple(map(text, place.values()))
        found.setdefault(key, (place, []))[1].append(text(point[axis]))
    return list(found.values())


def _without_logarithm(plot: Against, labels: Sequence[Value]) -> Iterator[str]:
    """Why a horizontal axis cannot be logarithmic."""
    found = quantity.scale(labels)
    if isinstance(plot, Box):
        yield "boxes stand side by side: only y can be logarithmic"
    elif found is None or len(found.numbers) < 2:
        yield f"{plot.x} has no logarithm: its labels are no quantities, or one alone"
    elif min(found.numbers.values()) <= 0:
        yield f"{plot.x} has a label that is not above 0: a logarithmic axis has none"


def _crowded(
    plot: Entry, axes: Mapping[str, Sequence[Value]], points: Sequence[Labels]
) -> Iterator[str]:
    """Why a picture cannot have a panel for each point that it does not put together."""
    from sandglass.studies import layout  # noqa: PLC0415 plotnine takes its time

    shown = pl.DataFrame([{axis: text(label) for axis, label in each.items()} for each in points])
    if isinstance(plot, Differences):
        ((axis, against),) = plot.against.items()
        shown = shown.filter(pl.col(axis) != text(against))
    results = layout.Results(axes, shown, pl.DataFrame(), Path(), {})
    try:
        layout.arranged(plot, results, plot.places, plot.coloured(axes))
    except SandglassError as error:
        _, would, panels = error.message.partition("would have ")
        yield f"{would}{panels}: {error.hint}"


def _unjudged(expect: Expect, points: Sequence[Labels]) -> Iterator[tuple[str, str]]:
    """Why there is nothing to judge a claim by, and by which of its keys."""
    wanted = {axis: text(label) for axis, label in expect.at.items()}
    chosen = [
        point
        for point in points
        if all(text(point[axis]) == label for axis, label in wanted.items())
    ]
    if not chosen:
        yield "at", f"no point has {named(expect.at)}"
    elif expect.compared:
        axis, *pair = expect.compared
        both = {text(label) for label in pair}
        if not any(both.issubset(labels) for _, labels in _places(chosen, axis)):
            key = "difference" if expect.difference else "ratio"
            yield key, f"no two points differ in {axis} alone: there is nothing to compare"
    elif (along := expect.rises or expect.falls) and all(
        len(labels) < 2 for _, labels in _places(chosen, along)
    ):
        key = "rises" if expect.rises else "falls"
        yield key, f"no two points differ in {along} alone: there is no step along it"
