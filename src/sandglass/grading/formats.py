"""What a grade is written as: for people, programs, Gradescope and nbgrader.

No time of a machine's clock is in any of it, so that a grade is the same bytes wherever it is made.
"""

import csv
import json
from pathlib import Path
from typing import Any

from rich.table import Table
from rich.text import Text

from sandglass.grading.outcome import Graded, Report
from sandglass.terminal import harmless, put, say

NOT_SHOWN = "(a hidden check)"
COLUMNS = (
    *("assignment", "duedate", "timestamp", "student_id", "last_name", "first_name", "email"),
    *("raw_score", "late_submission_penalty", "score", "max_score"),
)
"""Of the table that nbgrader's `export` writes (nbgrader/plugins/export.py, 0.9)."""


def number(points: float) -> str:
    """Points as people write them."""
    return f"{points:g}"


def tell(report: Report, *, hidden: bool) -> None:
    """Print a grade for people."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("")
    table.add_column("points", justify="right")
    table.add_column("of", justify="right")
    table.add_column("check", overflow="fold")
    for each in report.graded:
        sign = Text("ok", "green") if each.passed else Text("no", "red")
        title = Text(harmless(each.check.title))
        if detail := shown(each, hidden=hidden):
            title.append(f"\n{harmless(detail)}", "dim")
        table.add_row(sign, number(each.points), number(each.check.points), title)
    put(table)
    say(f"{report.sheet.title}: {number(report.points)} of {number(report.sheet.most)} points")


def shown(each: Graded, *, hidden: bool) -> str:
    """The detail of a check as far as its reader may see it."""
    return each.detail if hidden or not each.check.hidden else NOT_SHOWN


def as_json(report: Report, *, hidden: bool) -> str:
    """A grade for programs."""
    found = {
        "title": report.sheet.title,
        "points": report.points,
        "most": report.sheet.most,
        "checks": [
            {
                "id": each.check.id,
                "title": each.check.title,
                "kind": each.check.kind,
                "points": each.points,
                "most": each.check.points,
                "passed": each.passed,
                "hidden": each.check.hidden,
                "detail": shown(each, hidden=hidden),
            }
            for each in report.graded
        ],
    }
    return json.dumps(found, indent=1)


def gradescope(report: Report) -> dict[str, Any]:
    """A grade as results.json, which Gradescope's Autograder Specifications describe.

    A hidden check is `hidden` there: who teaches sees it, students never do.
    """
    return {
        "score": report.points,
        "output": report.sheet.title,
        "output_format": "text",
        "visibility": "visible",
        "stdout_visibility": "hidden",
        "tests": [
            {
                "number": str(position),
                "name": each.check.title,
                "name_format": "text",
                "score": each.points,
                "max_score": each.check.points,
                "status": "passed" if each.passed else "failed",
                "output": each.detail,
                "output_format": "text",
                "tags": [each.check.id, each.check.kind],
                "visibility": "hidden" if each.check.hidden else "visible",
            }
            for position, each in enumerate(report.graded, 1)
        ],
    }


def write(path: Path, found: dict[str, Any]) -> None:
    """Write what a program reads."""
    path.write_text(json.dumps(found, indent=1) + "\n")


def append_row(path: Path, report: Report) -> None:
    """Add a row to a table with the columns of nbgrader's own export, which is made where needed.

    The assignment is the grade file's folder, the student what the submission is called.
    """
    new = not path.exists() or not path.stat().st_size
    with path.open("a", newline="") as file:
        table = csv.DictWriter(file, COLUMNS, lineterminator="\n", restval="")
        if new:
            table.writeheader()
        table.writerow(
            {
                "assignment": report.sheet.path.parent.name,
                "student_id": report.name.partition(".")[0],
                "raw_score": report.points,
                "late_submission_penalty": 0.0,
                "score": report.points,
                "max_score": report.sheet.most,
            }
        )
