"""The tables of a study, in its directory: python -m sandglass.studies.tables measure|conclude."""

from pathlib import Path
from typing import Any

import polars as pl
import typer

from sandglass.errors import SandglassError
from sandglass.install import builds
from sandglass.results import series
from sandglass.studies import (
    agreement,
    claims,
    extension,
    metric,
    reading,
    statistics,
    targets,
    work,
)
from sandglass.studies.jobs import Task
from sandglass.studies.points import text
from sandglass.studies.statistics import COLUMNS, FLOATS
from sandglass.studies.study import TAKEN, Study
from sandglass.terminal import program

TEXTS = ("metric", "against", "digest", "directory")
"""Columns that are text, even where all that they hold looks like numbers."""

app = typer.Typer(add_completion=False, no_args_is_help=True, help=__doc__)


@app.command()
def measure() -> None:
    """Measure all runs. Raises SandglassError where one is of another experiment or lab."""
    study = reading.resolved(Path(targets.STUDY))
    tasks = work.tasks()
    with builds.settled():
        stale = [each.directory for each in work.missing(tasks)]
    if stale:
        raise SandglassError(f"not the runs of this study: {', '.join(stale)}")
    rows = [measured(study, task) for task in tasks]
    for row in rows:
        if row.keys() != rows[0].keys():
            raise SandglassError(f"{study.module} measures other things in {row['directory']}")
    write(frame(rows, study), study, targets.RUNS)


@app.command()
def conclude() -> None:
    """Put the replicas together, compare, and judge the claims."""
    study = reading.resolved(Path(targets.STUDY))
    rows = read(targets.RUNS, study)
    metrics = [name for name in rows.columns if name not in (*study.axes, *COLUMNS)]
    summary = statistics.summary(rows, study.axes, metrics, study.rule)
    write(summary, study, targets.SUMMARY)
    if compare := study.compare:
        differences = statistics.differences(
            rows, study.axes, metrics, compare.axis, compare.against
        )
        write(differences, study, targets.DIFFERENCES)
    if study.expects:
        found = claims.judge(rows, study.axes, study.expects)
        series.rounded(claims.Judged.frame(found)).write_csv(targets.CLAIMS)


def measured(study: Study, task: Task) -> dict[str, Any]:
    """A row of runs.csv. Raises SandglassError, naming run and metric, where one has no value."""
    run = series.load(Path(task.directory), task.labels)
    found = metric.values(study.metrics, run)
    if study.module:
        more = extension.metrics(extension.load(study.module), run)
        for name in more:
            if not reading.NAME.fullmatch(name):
                raise SandglassError(
                    f"{study.module} measures {name!r}, which is no name",
                    "write letters, digits and _",
                )
            if name in TAKEN or name in study.axes or name in study.metrics:
                raise SandglassError(
                    f"{study.module} measures {name}, and a column is called so",
                    "call it otherwise",
                )
        found |= more
        for name in agreement.asked(study) - found.keys():
            raise SandglassError(f"{study.path}: {claims.unknown('metric', name, found)}")
    return {
        **{axis: task.labels[axis] for axis in study.axes},
        "replica": task.replica,
        "seed": task.seed,
        **found,
        **{name: run.field(name) for name in ("digest", "virtual_s", "wall_s")},
        "directory": task.directory,
    }


def frame(rows: list[dict[str, Any]], study: Study) -> pl.DataFrame:
    """Rows as the table of a study's runs."""
    metrics = [name for name in rows[0] if name not in (*study.axes, *COLUMNS)]
    types = dict.fromkeys(metrics, pl.Float64) | study.types
    texts = [axis for axis, kind in study.types.items() if kind == pl.String]
    rows = [row | {axis: text(row[axis]) for axis in texts} for row in rows]
    return pl.DataFrame(rows, schema_overrides=types, infer_schema_length=None)


def write(table: pl.DataFrame, study: Study, name: str) -> None:
    """Write a table, all numbers rounded but the axes' labels, by which rows are found again."""
    rounded = series.rounded(table.drop(study.axes, strict=False))
    table.with_columns(rounded).write_csv(name)


def read(name: str, study: Study, out: Path = Path()) -> pl.DataFrame:
    """A table of a study, whose columns have one type in all of them, whatever they hold."""
    types = dict.fromkeys(TEXTS, pl.String) | dict.fromkeys(FLOATS, pl.Float64) | study.types
    there = pl.read_csv(out / name, n_rows=0).columns
    own = {column: kind for column, kind in types.items() if column in there}
    return pl.read_csv(out / name, schema_overrides=own, infer_schema_length=None)


if __name__ == "__main__":
    program(app)
