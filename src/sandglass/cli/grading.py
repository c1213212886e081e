"""Grading: a student's submission by a teacher's checks."""

from pathlib import Path
from typing import Annotated

import typer

from sandglass.terminal import note

app = typer.Typer()


@app.command()
def grade(
    sheet: Annotated[Path, typer.Argument(metavar="GRADE.yaml", show_default=False)],
    submission: Annotated[Path, typer.Argument(metavar="SUBMISSION", show_default=False)],
    as_json: Annotated[bool, typer.Option("--json", help="For programs.")] = False,
    gradescope: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Also write Gradescope's results.json.")
    ] = None,
    nbgrader: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Also write a row as nbgrader exports it.")
    ] = None,
    show_hidden: Annotated[
        bool, typer.Option("--show-hidden", help="Tell of hidden checks, too: for teachers.")
    ] = False,
) -> None:
    """Grade what a student hands in.

    SUBMISSION is a directory, a file, a ZIP or a tar archive. What it holds runs in the lab alone.
    The status is 0 when it is graded, whatever the points.

    Example: ./sandglass grade GRADE.yaml submission.zip --gradescope results.json
    """
    from sandglass.grading import course, formats
    from sandglass.grading import sheet as sheets
    from sandglass.install import setup_lab

    wanted = sheets.read(sheet)
    setup_lab.lab()
    report = course.grade(wanted, submission, lambda check: note(f"{check.id}: {check.title}"))
    if gradescope:
        formats.write(gradescope, formats.gradescope(report))
    if nbgrader:
        formats.append_row(nbgrader, report)
    if as_json:
        print(formats.as_json(report, hidden=show_hidden))
    else:
        formats.tell(report, hidden=show_hidden)
