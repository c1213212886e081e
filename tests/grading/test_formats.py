"""What a grade is written as."""

import csv
import json
from pathlib import Path

import pytest

from sandglass.grading import formats, sheet
from sandglass.grading.outcome import Graded, Outcome, Report

SHEET = """\
title: Two checks
checks:
  - {id: open, title: An open one, points: 4, kind: output, command: x, status: 0, partial: true, hint: Look}
  - {id: secret, title: A hidden one, points: 6, kind: output, command: x, status: 0, hidden: true, hint: Think}
"""  # noqa: E501


@pytest.fixture
def report(tmp_path: Path) -> Report:
    """One of two parts right, and a hidden check that fails."""
    path = tmp_path / "router" / "GRADE.yaml"
    path.parent.mkdir()
    path.write_text(SHEET)
    found = sheet.read(path)
    outcomes = [Outcome(1, 2, ["no the \x1b[31moutput"]), Outcome(1, 2, ["the secret"])]
    graded = [Graded(*each) for each in zip(found.checks, outcomes, strict=True)]
    return Report(found, "ada.zip", graded)


def test_points_are_a_share_or_all_or_nothing(report: Report) -> None:
    assert [each.points for each in report.graded] == [2, 0]
    assert report.points == 2


def test_programs_get_it_without_what_is_hidden(report: Report) -> None:
    found = json.loads(formats.as_json(report, hidden=False))
    assert (found["points"], found["most"]) == (2, 10)
    assert [each["id"] for each in found["checks"]] == ["open", "secret"]
    assert found["checks"][0]["detail"].endswith("Hint: Look")
    assert "the secret" not in json.dumps(found)
    assert "the secret" in formats.as_json(report, hidden=True)


def test_people_get_it_without_what_is_hidden(
    report: Report, capsys: pytest.CaptureFixture[str]
) -> None:
    formats.tell(report, hidden=False)
    said = capsys.readouterr().out
    assert "Two checks: 2 of 10 points" in said
    assert "Look" in said
    assert "the secret" not in said
    assert "\x1b[31m" not in said  # what acts on a terminal is shown


def test_gradescope_gets_its_format(report: Report) -> None:
    found = formats.gradescope(report)
    assert found["score"] == 2
    one, other = found["tests"]
    assert one["name"] == "An open one"
    assert (one["score"], one["max_score"], one["status"]) == (2, 4, "failed")
    assert (one["visibility"], other["visibility"]) == ("visible", "hidden")
    assert "the secret" in other["output"]  # which Gradescope shows to those who teach
    # the keys of the specification
    assert found.keys() <= {
        *("score", "execution_time", "output", "output_format", "test_output_format"),
        *("test_name_format", "visibility", "stdout_visibility", "extra_data", "tests"),
        "leaderboard",
    }
    assert one.keys() <= {
        *("score", "max_score", "status", "name", "name_format", "number", "output"),
        *("output_format", "tags", "visibility", "extra_data"),
    }


def test_nbgrader_gets_a_row_for_each_submission(report: Report, tmp_path: Path) -> None:
    path = tmp_path / "grades.csv"
    formats.append_row(path, report)
    formats.append_row(path, report)
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 2
    assert rows[0]["assignment"] == "router"
    assert rows[0]["student_id"] == "ada"
    assert (rows[0]["score"], rows[0]["max_score"]) == ("2.0", "10.0")
