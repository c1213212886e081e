"""The pictures and the page of a study, in its directory: python -m sandglass.studies.pictures."""

from pathlib import Path

import polars as pl

from sandglass.results import series, style
from sandglass.studies import drawing, extension, reading, targets
from sandglass.studies.layout import Results
from sandglass.studies.points import text
from sandglass.studies.study import Study
from sandglass.studies.tables import read
from sandglass.terminal import guarded


def publish() -> None:
    """Draw the pictures, and write the page."""
    study = reading.resolved(Path(targets.STUDY))
    rows, summary = (read(name, study.axes) for name in (targets.RUNS, targets.SUMMARY))
    found = results(study, rows, summary)
    for entry, name in zip(study.plots, targets.pictures(study), strict=True):
        style.save(drawing.draw(entry, found), Path(name))
    if study.module:
        for name, drawn in extension.plots(extension.load(study.module), rows, summary).items():
            style.save(style.finish(drawn, study.title, found.origin), Path(name))
    Path(targets.INDEX).write_text(study.title)


def results(study: Study, rows: pl.DataFrame, summary: pl.DataFrame) -> Results:
    """What the pictures are made of."""
    first = series.load(Path(rows["directory"][0]), {})
    seeds = sorted(rows["seed"].unique())
    origin = (
        f"{rows.height} runs, seeds {seeds[0]} to {seeds[-1]}, "
        f"Linux {first.field('kernel.release')}, lab build {first.field('lab_build')}, "
        f"digest {series.combined_digest(rows['digest'])[:16]}."
    )
    # As the tables have them: text, where not all are numbers.
    labels = {
        axis: [text(label) for label in own] if rows.schema[axis] == pl.String else own
        for axis, own in study.labels.items()
    }
    known = {name: each.unit for name, each in study.metrics.items()}
    measured = {name: known.get(name, "") for name in summary["metric"].unique()}
    return Results(labels, rows, summary, Path(), measured, origin)


if __name__ == "__main__":
    guarded(publish)
