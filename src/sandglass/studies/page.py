"""The page of a study, one file: claims, figures, tables, set-up, and where it all comes from."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, get_args

import polars as pl
import yaml

from sandglass.experiment.document import Value
from sandglass.results.pages import environment, number
from sandglass.studies import quantity, targets
from sandglass.studies.bounds import Outcome
from sandglass.studies.claims import Judged
from sandglass.studies.layout import Results
from sandglass.studies.origin import Origin
from sandglass.studies.quantity import count, said, titled
from sandglass.studies.statistics import ALIKE_HINT, Rule, alike
from sandglass.studies.study import Study

TEMPLATE = "page.html.jinja"
VIEW = "view.html"
"""A run's own page."""
SIGNS: dict[Outcome, str] = {"holds": "✓", "open": "?", "fails": "✗"}
SIGNIFICANT = 0.05


@dataclass(frozen=True)
class Picture:
    """One of the study's figures: the name of its files, its words, and its SVG."""

    name: str
    alt: str
    svg: bytes


class Head(NamedTuple):
    """A column of a table."""

    text: str
    number: bool = True


class Cell(NamedTuple):
    """What stands there, and what it is sorted by."""

    text: str
    value: float | str = ""
    classes: str = ""
    href: str = ""


@dataclass(frozen=True)
class Table:
    """A table of the page."""

    heads: list[Head]
    rows: list[list[Cell]]


def page(
    study: Study,
    results: Results,
    source: Origin,
    pictures: Sequence[Picture],
    differences: pl.DataFrame | None,
    claims: Sequence[Judged],
) -> str:
    """The whole page. Files that it names lie beside it."""
    against = said(study.compare.against) if study.compare else ""
    sections = {
        "claims": bool(claims),
        "figures": bool(pictures),
        "summary": True,
        "differences": differences is not None,
        "setup": True,
        "origin": True,
        "runs": True,
    }
    words = {"setup": "set-up", "origin": "how it was made"}
    return (
        environment(Path(__file__).parent)
        .get_template(TEMPLATE)
        .render(
            study=study,
            lead=_lead(study, results, source),
            alike=alike(results.runs, list(results.axes)),
            alike_hint=ALIKE_HINT,
            contents=[(key, words.get(key, key)) for key, there in sections.items() if there],
            claims=claims,
            claimed=count(len(claims), "claim"),
            outcomes=[
                (outcome, SIGNS[outcome], sum(each.verdict == outcome for each in claims))
                for outcome in get_args(Outcome)
            ],
            signs=SIGNS,
            pictures=pictures,
            summary=_summary(results),
            differences=None if differences is None else _differences(differences, results),
            against=against,
            axes=[(axis, [said(label) for label in each]) for axis, each in results.axes.items()],
            replicas=_replicas(study),
            metrics=[(name, _measured(metric)) for name, metric in study.metrics.items()],
            file=yaml.safe_dump(dict(study.data), sort_keys=False, allow_unicode=True),
            source=source,
            files=[*targets.tables(study), "study.yaml"],
            runs=_runs(results),
            paged=any((results.home / each / VIEW).is_file() for each in results.runs["directory"]),
        )
    )


def _lead(study: Study, results: Results, source: Origin) -> str:
    points = results.runs.select(*results.axes).unique().height if results.axes else 1
    by = f" by {' and '.join(_words(axis, results) for axis in results.axes)}" if points > 1 else ""
    metrics = results.summary["metric"].unique(maintain_order=True)
    return (
        f"{count(points, 'point')}{by}, {count(source.runs, 'run')} of "
        f"{' and '.join(source.durations)} "
        f"({source.seeded}); measured: {', '.join(map(quantity.words, metrics))}."
    )


def _replicas(study: Study) -> str:
    """How many there are, in words."""
    if not isinstance(study.replicas, Rule):
        return f"{study.replicas} a point; number r has the same seed at every point"
    rule = study.replicas
    unit = " of the mean" if isinstance(rule.within, str) else ""
    return (
        f"from {study.first} on until half the 95 % interval of {rule.of} is within "
        f"{rule.within}{unit}, at most {rule.most}; number r has the same seed at every point"
    )


def _measured(metric: object) -> str:
    """A metric's expression."""
    where = f" where {metric.where}" if getattr(metric, "where", None) else ""  # type: ignore[attr-defined]
    table = f" of {metric.table}" if hasattr(metric, "table") else ""
    return f"{getattr(metric, 'text', None) or getattr(metric, 'of', '')}{table}{where}"


def _summary(results: Results) -> Table:
    sequential = "reached" in results.summary.columns
    heads = [*_axis_heads(results), Head("metric", number=False), Head("n"), Head("mean")]
    heads += [Head("low"), Head("high"), Head("sd"), Head("median")]
    heads += [Head("narrow enough", number=False)] * sequential
    rows = []
    for row in results.summary.to_dicts():
        cells = [
            *_place(row, results),
            Cell(*(titled(row["metric"], results.units.get(row["metric"], "")),) * 2),
        ]
        cells += [_number(row[key]) for key in ("n", "mean", "low", "high", "sd", "median")]
        if sequential:
            cells.append(_reached(row))
        rows.append(cells)
    return Table(heads, rows)


def _reached(row: dict[str, float | bool | None]) -> Cell:
    """Whether the replicas' rule is, and else how narrow the interval got."""
    if row["reached"] is None:
        return Cell("")
    if row["reached"]:
        return Cell("yes", "yes")
    if row["low"] is None or not row["mean"]:
        return Cell("not reached", "not reached", "open")
    share = (row["high"] - row["low"]) / 2 / abs(row["mean"])  # type: ignore[operator]
    return Cell(f"not reached: ± {100 * share:.2g} %", "not reached", "open")


def _differences(table: pl.DataFrame, results: Results) -> Table:
    heads = [*_axis_heads(results), Head("metric", number=False), Head("word", number=False)]
    heads += [Head("difference"), Head("ratio"), Head("n")]
    heads += [Head("correlation"), Head("gain"), Head("p (Holm)")]
    rows = []
    for row in table.to_dicts():
        cells = [*_place(row, results), _metric(row["metric"], results), _word(row)]
        cells.append(_interval(row["mean"], row["low"], row["high"]))
        cells.append(_interval(row["ratio"], row["ratio_low"], row["ratio_high"]))
        cells.append(_number(row["n"]))
        share = row["correlation"]
        cells.append(_number(None if share is None else round(share, 2) + 0.0))
        cells += [_number(row[key], 2) for key in ("gain", "p_holm")]
        rows.append(cells)
    return Table(heads, rows)


def _word(row: dict[str, Any]) -> Cell:
    """Which way a metric differs; equal where no pair does."""
    if row["mean"] == 0 and row["low"] == row["high"]:
        return Cell("equal", "equal")
    if row["p_holm"] is None or row["p_holm"] >= SIGNIFICANT:
        return Cell("undecided", "undecided", "open")
    return Cell("more", "more") if row["mean"] > 0 else Cell("less", "less")


def _runs(results: Results) -> Table:
    metrics = results.summary["metric"].unique(maintain_order=True).to_list()
    heads = [*_axis_heads(results), Head("replica"), Head("seed")]
    heads += [Head(titled(name, results.units.get(name, ""))) for name in metrics]
    heads += [Head("wall (s)"), Head("digest", number=False), Head("run", number=False)]
    rows = []
    for row in results.runs.to_dicts():
        directory = row["directory"]
        view = f"{directory}/{VIEW}"
        there = (results.home / view).is_file()
        cells = [*_place(row, results)]
        cells += [_number(row[key]) for key in ("replica", "seed", *metrics, "wall_s")]
        cells.append(Cell((row["digest"] or "")[:16], row["digest"] or ""))
        href = view if there else f"{directory}/run.json"
        cells.append(Cell("page" if there else "run.json", directory, href=href))
        rows.append(cells)
    return Table(heads, rows)


def _axis_heads(results: Results) -> list[Head]:
    return [Head(_words(axis, results), number=False) for axis in results.axes]


def _words(axis: str, results: Results) -> str:
    return quantity.words(axis, [*results.axes, *results.units])


def _place(row: dict[str, Value], results: Results) -> list[Cell]:
    """A row's labels, quantities sorted by their size."""
    cells = []
    for axis, labels in results.axes.items():
        found = quantity.scale(labels)
        value = found.numbers[row[axis]] if found else said(row[axis])
        cells.append(Cell(said(row[axis]), value))
    return cells


def _metric(name: str, results: Results) -> Cell:
    called = titled(name, results.units.get(name, ""))
    return Cell(called, called)


def _number(value: float | None, digits: int = 4) -> Cell:
    return Cell(_digits(value, digits), "" if value is None else value, "number")


def _interval(value: float | None, low: float | None, high: float | None) -> Cell:
    if value is None or low is None:
        return _number(value, 3)
    text = f"{_digits(value, 3)} ({_digits(low, 3)} to {_digits(high, 3)})"
    return Cell(text, value, "number")


def _digits(value: float | None, digits: int) -> str:
    """To so many digits, and always to the whole number: not 4e+03 but 4073."""
    whole = len(f"{abs(value):.0f}") if value is not None and math.isfinite(value) else 0
    return number(value, max(digits, whole))
