"""The pictures and the page of a study, in its directory: python -m sandglass.studies.pictures."""

from pathlib import Path

import polars as pl
from plotnine import ggplot

from sandglass.results import series, style
from sandglass.studies import drawing, extension, manifest, page, reading, targets
from sandglass.studies.claims import Judged
from sandglass.studies.layout import Results
from sandglass.studies.origin import Origin, origin
from sandglass.studies.page import Picture
from sandglass.studies.points import text
from sandglass.studies.quantity import count
from sandglass.studies.study import Study
from sandglass.studies.tables import read
from sandglass.terminal import program


def publish() -> None:
    """Draw the pictures, and write the page."""
    study = reading.resolved(Path(targets.STUDY))
    rows, summary = (read(name, study) for name in (targets.RUNS, targets.SUMMARY))
    runs = [series.load(Path(each), {}) for each in rows["directory"]]
    source = origin(runs, study.title, by_lab=True)
    found = results(study, rows, summary, source)
    drawn = {
        name: drawing.draw(entry, found)
        for entry, name in zip(study.plots, targets.pictures(study), strict=True)
    }
    if study.module:
        own = extension.plots(extension.load(study.module), rows, summary)
        drawn |= {name: style.finish(each, study.title, found.origin) for name, each in own.items()}
    manifest.add(Path(), [f"{name}.{kind}" for name in drawn for kind in ("svg", "png")])
    text = page.page(
        study,
        found,
        source,
        [_saved(name, each) for name, each in drawn.items()],
        read(targets.DIFFERENCES, study) if study.compare else None,
        Judged.read(Path(targets.CLAIMS)) if study.expects else [],
    )
    Path(targets.INDEX).write_text(text)


def _saved(name: str, drawn: ggplot) -> Picture:
    """A picture in its files, as the page shows it; its words stand for it where it is not seen."""
    style.save(drawn, Path(name))
    said = f"{drawn.labels.title}. {drawn.labels.caption}".replace("\n", " ")
    return Picture(name, said, Path(f"{name}.svg").read_bytes())


def results(study: Study, rows: pl.DataFrame, summary: pl.DataFrame, source: Origin) -> Results:
    """What the pictures are made of."""
    said = (
        f"{count(source.runs, 'run')}, {source.seeded}, Linux {source.kernel_release}, "
        f"lab build {source.lab_build}, digest {source.digest[:16]}."
    )
    # As the tables have them: text, where not all are numbers.
    labels = {
        axis: [text(label) for label in own] if rows.schema[axis] == pl.String else own
        for axis, own in study.labels.items()
    }
    known = {name: each.unit for name, each in study.metrics.items()}
    measured = {name: known.get(name, "") for name in summary["metric"].unique()}
    return Results(labels, rows, summary, Path(), measured, said)


if __name__ == "__main__":
    program(publish)
