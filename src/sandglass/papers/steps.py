"""The steps between runs and report, as the rules of the Snakefile call them.

    steps table abe fig03 quick     runs     -> fig03.csv, fig03.json
    steps figure abe fig03          table    -> fig03.svg, fig03.png, fig03.verdicts.csv
    steps collect abe               verdicts -> verdicts.csv
    steps runs abe quick            runs     -> runs.csv
    steps report abe [FIGURE]       all      -> report.html or FIGURE.html
    steps index quick abe ls_aimd   verdicts -> index.html

All read and write below results/ in the working directory.
"""

import json
from collections.abc import Container, Sequence
from pathlib import Path
from typing import Annotated

import polars as pl
import typer
from plotnine import ggplot

from sandglass.errors import SandglassError
from sandglass.papers import (
    across,
    claims,
    ensemble,
    grid,
    numbers,
    provenance,
    published,
    report,
    rulings,
    shelf,
    verdicts,
)
from sandglass.papers.code import FigureModule, metrics, module
from sandglass.papers.provenance import Provenance
from sandglass.results import series, style
from sandglass.results.series import Run
from sandglass.studies.jobs import Task
from sandglass.terminal import program

app = typer.Typer(add_completion=False, no_args_is_help=True, help=__doc__)

Paper = Annotated[str, typer.Argument(help="A paper's folder, such as abe.")]
FigureName = Annotated[str, typer.Argument(help="A figure of the paper, such as fig03.")]


def output(paper: str, name: str) -> Path:
    """Where a result of the pipeline lies."""
    return Path("results") / paper / name


def _source(paper: str, figure: str) -> Provenance:
    return Provenance(**json.loads(output(paper, f"{figure}.json").read_text()))


def _table(paper: str, figure: str) -> pl.DataFrame:
    return pl.read_csv(output(paper, f"{figure}.csv"), infer_schema_length=None)


@app.command()
def table(paper: Paper, figure: FigureName, profile: str) -> None:
    """Make the table behind a figure from its runs, and note where they come from."""
    points = grid.points(paper, figure, profile)
    runs = [series.load(Path(point.directory), point.labels) for point in points]
    source = provenance.provenance(runs, paper, figure, profile)
    rows = _rows(module(paper, figure), points, runs)
    if rows.is_empty():
        raise SandglassError(f"the table of {figure} is empty, though it has {len(runs)} runs")
    output(paper, f"{figure}.json").write_text(json.dumps(source.document(), indent=2) + "\n")
    series.rounded(rows).write_csv(output(paper, f"{figure}.csv"))


def _rows(code: FigureModule, points: Sequence[Task], runs: Sequence[Run]) -> pl.DataFrame:
    """The figure's table, replica by replica."""
    numbers = sorted({point.replica for point in points if point.replica})
    if not numbers:
        return code.table(runs)
    both = list(zip(points, runs, strict=True))
    own = {number: [run for point, run in both if point.replica == number] for number in numbers}
    most = max(len(runs) for runs in own.values())
    parts = [number for number in numbers if len(own[number]) < most]
    return ensemble.together([(number, code.table(own[number])) for number in numbers], parts)


@app.command("figure")
def draw_and_judge(paper: Paper, figure: FigureName) -> None:
    """Draw a figure from its table, and judge its claims."""
    rows, source = _table(paper, figure), _source(paper, figure)
    found = numbers.explained(paper, judge(paper, figure, rows, source.profile))
    style.save(drawn(paper, figure, rows, source), output(paper, figure))
    verdicts.Verdict.frame(found).write_csv(output(paper, f"{figure}.verdicts.csv"))


def drawn(paper: str, figure: str, rows: pl.DataFrame, source: Provenance) -> ggplot:
    """A figure with its title and caption."""
    about = shelf.paper(paper).figures[figure]
    caption = provenance.caption(about.caption, about.setup.redesign, source)
    return style.finish(module(paper, figure).plot(rows), about.title, caption)


def judge(
    paper: str,
    figure: str,
    rows: pl.DataFrame,
    profile: str,
    names: Container[str] | None = None,
) -> list[verdicts.Verdict]:
    """The verdicts of a profile on a figure's table: on the claims of these names, or on all."""
    return verdicts.judge(
        [each for each in claims.claims(paper, figure) if names is None or each.id in names],
        rows,
        metrics(paper, figure),
        paper=shelf.paper(paper).head.paper,
        figure=figure,
        profile=profile,
    )


def _verdicts(paper: str, figure: str) -> list[verdicts.Verdict]:
    return verdicts.Verdict.read(output(paper, f"{figure}.verdicts.csv"))


@app.command()
def collect(paper: Paper) -> None:
    """Put the verdicts of all figures into one table."""
    found = [v for figure in grid.made(paper) for v in _verdicts(paper, figure)]
    verdicts.Verdict.frame(found).write_csv(output(paper, "verdicts.csv"))


@app.command("runs")
def list_runs(paper: Paper, profile: str) -> None:
    """List all runs behind a paper's figures, with their digests and times."""
    found = [point for figure in grid.made(paper) for point in grid.points(paper, figure, profile)]
    provenance.listing(found).write_csv(output(paper, "runs.csv"))


@app.command("report")
def write_report(
    paper: Paper, figure: Annotated[str | None, typer.Argument(help="Only this figure.")] = None
) -> None:
    """Write the page with figures, set-up and verdicts."""
    about = shelf.paper(paper)
    shown = [figure] if figure else grid.made(paper)
    sections = [
        report.Section(
            name=name,
            about=about.figures[name],
            image=output(paper, f"{name}.svg").read_bytes(),
            source=_source(paper, name),
            verdicts=_verdicts(paper, name),
        )
        for name in shown
    ]
    whole = None if figure else _whole(paper, sections)
    page = report.page(paper, about.head, sections, whole)
    output(paper, f"{figure or 'report'}.html").write_text(page)


def _whole(paper: str, sections: Sequence[report.Section]) -> report.Whole:
    """What a paper's page has besides its figures; its tables are written on the way."""
    judged = [each for own in sections for each in own.verdicts]
    others = across.elsewhere(paper, across.set_ups(paper))
    sentences = rulings.rulings(paper, judged, others)
    figures = {each.name: each.about for each in sections}
    pairs = published.of_paper(sentences, figures, lambda name: _table(paper, name))
    table = rulings.table(paper, sentences, sections[0].source.profile)
    table.write_csv(output(paper, "sentences.csv"))
    published.table(pairs).write_csv(output(paper, "published.csv"))
    scatter = published.plot(pairs)
    return report.Whole(
        abstract=numbers.rendered(shelf.paper(paper).abstract, paper),
        sentences=sentences,
        numbers=style.drawn(scatter, "svg") if scatter else None,
        told=published.said(pairs),
        runs=pl.read_csv(output(paper, "runs.csv"), infer_schema_length=None),
    )


@app.command()
def index(
    profile: str, papers: Annotated[list[str], typer.Argument(help="Papers' folders.")]
) -> None:
    """Write the page over papers."""
    judged = {name: verdicts.Verdict.read(output(name, "verdicts.csv")) for name in papers}
    found = {
        name: (shelf.paper(name), own, rulings.rulings(name, own)) for name, own in judged.items()
    }
    Path("results/index.html").write_text(report.index(found, profile))


if __name__ == "__main__":
    program(app)
