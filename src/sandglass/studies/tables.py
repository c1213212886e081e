"""The tables of a study, in its directory: python -m sandglass.studies.tables measure|conclude."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import polars as pl
import typer

from sandglass.errors import SandglassError
from sandglass.install import builds
from sandglass.results import series
from sandglass.studies import claims, extension, metric, reading, statistics, targets, work
from sandglass.studies.points import text
from sandglass.studies.study import COLUMNS, Study
from sandglass.studies.work import Task
from sandglass.terminal import guarded

app = typer.Typer(add_completion=False, no_args_is_help=True, help=__doc__)


@app.command()
def measure() -> None:
    """Measure all runs. Raises SandglassError where one is of another experiment or lab."""
    study = reading.resolved(Path(targets.STUDY))
    tasks = work.tasks()
    with builds.settled():
        stale = work.undone(tasks)
    if stale:
        raise SandglassError(f"not the runs of this study: {', '.join(stale)}")
    rows = [measured(study, task) for task in tasks]
    for row in rows:
        if row.keys() != rows[0].keys():
            raise SandglassError(f"{study.module} measures other things in {row['directory']}")
    series.rounded(frame(rows, study.axes)).write_csv(targets.RUNS)


@app.command()
def conclude() -> None:
    """Put the replicas together, compare, and judge the claims."""
    study = reading.resolved(Path(targets.STUDY))
    rows = read(targets.RUNS, study.axes)
    metrics = [name for name in rows.columns if name not in (*study.axes, *COLUMNS)]
    summary = statistics.summary(rows, study.axes, metrics, study.rule)
    series.rounded(summary).write_csv(targets.SUMMARY)
    if compare := study.compare:
        differences = statistics.differences(
            rows, study.axes, metrics, compare.axis, compare.against
        )
        series.rounded(differences).write_csv(targets.DIFFERENCES)
    if study.expects:
        found = claims.judge(rows, study.axes, study.expects)
        series.rounded(claims.frame(found)).write_csv(targets.CLAIMS)


def measured(study: Study, task: Task) -> dict[str, Any]:
    """A row of runs.csv. Raises SandglassError, naming run and metric, where one has no value."""
    run = series.load(Path(task.directory), task.labels)
    found = metric.values(study.metrics, run)
    if study.module:
        found |= extension.metrics(extension.load(study.module), run)
    return {
        **{axis: task.labels[axis] for axis in study.axes},
        "replica": task.replica,
        "seed": task.seed,
        **found,
        **{name: run.field(name) for name in ("digest", "virtual_s", "wall_s")},
        "directory": task.directory,
    }


def frame(rows: list[dict[str, Any]], axes: list[str]) -> pl.DataFrame:
    """Rows as the table of a study's runs; an axis whose values are not all numbers is text."""
    metrics = [name for name in rows[0] if name not in (*axes, *COLUMNS)]
    types: dict[str, type[pl.DataType]] = dict.fromkeys(metrics, pl.Float64)
    for axis in axes:
        kinds = {type(row[axis]) for row in rows}
        if not kinds <= {int, float}:
            types[axis] = pl.String
            rows = [row | {axis: text(row[axis])} for row in rows]
        elif kinds == {int, float}:
            types[axis] = pl.Float64
    return pl.DataFrame(rows, schema_overrides=types, infer_schema_length=None)


def read(name: str, axes: Iterable[str], out: Path = Path()) -> pl.DataFrame:
    """A table of a study, whose axes have one type in all of them."""
    found = pl.read_csv(out / name, infer_schema_length=None)
    first = pl.read_csv(out / targets.RUNS, infer_schema_length=None).schema
    return found.with_columns(pl.col(axis).cast(first[axis]) for axis in axes if axis in found)


if __name__ == "__main__":
    guarded(app)
