"""The assignments: a solution gets all points, a skeleton does not, and a grade is repeatable."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from sandglass.install.builds import ROOT
from tests.grading.conftest import call

pytestmark = pytest.mark.lab
HOME = ROOT / "examples/assignments"
QUICK = "bufferbloat"


def graded(name: str, part: str, *words: object) -> dict[str, Any]:
    done = call(HOME / name / "GRADE.yaml", HOME / name / part, "--json", *words)
    assert done.returncode == 0, done.stdout + done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize(
    "name",
    [
        QUICK,
        pytest.param("router", marks=pytest.mark.thorough),
        pytest.param("aqm", marks=pytest.mark.thorough),
    ],
)
def test_a_solution_gets_all_points_and_a_skeleton_does_not(name: str) -> None:
    solved = graded(name, "solution", "--show-hidden")
    assert solved["points"] == solved["most"], solved
    begun = graded(name, "skeleton", "--show-hidden")
    assert 0 < begun["points"] < begun["most"] / 2, begun


@pytest.mark.thorough
def test_a_grade_is_the_same_twice_in_all_its_forms(tmp_path: Path) -> None:
    written = []
    for number in range(2):
        path = tmp_path / f"{number}.json"
        found = graded(QUICK, "skeleton", "--gradescope", path)
        written.append((found, path.read_bytes()))
    assert written[0] == written[1]


def test_what_is_no_submission_is_no_grade(tmp_path: Path) -> None:
    done = call(HOME / QUICK / "GRADE.yaml", tmp_path / "none")
    assert done.returncode == 2
    assert "no such file" in done.stderr


def test_a_grade_file_that_is_wrong_is_no_grade(tmp_path: Path) -> None:
    (tmp_path / "GRADE.yaml").write_text("title: t\nchecks: [{kind: ping}]\n")
    done = call(tmp_path / "GRADE.yaml", tmp_path)
    assert done.returncode == 2
    assert "GRADE.yaml:2: checks[0].kind: 'ping' is unknown" in done.stderr


@pytest.mark.thorough
def test_a_grader_that_is_killed_leaves_nothing_at_work(tmp_path: Path) -> None:
    (tmp_path / "GRADE.yaml").write_text(
        "title: t\nchecks: [{id: a, title: t, points: 1, kind: output, command: x.py, status: 0}]\n"
    )
    (tmp_path / "x.py").write_text("while True: pass\n")
    words = [sys.executable, "-P", "-m", "sandglass", "grade", str(tmp_path / "GRADE.yaml")]
    own = os.environ | {"PYTHONPATH": str(ROOT / "src")}
    grader = subprocess.Popen([*words, str(tmp_path / "x.py")], env=own, stdin=subprocess.DEVNULL)
    while not (below := _children(grader.pid)):
        time.sleep(0.2)
    grader.kill()
    grader.wait()
    (worker,) = below
    until = time.monotonic() + 60
    while Path(f"/proc/{worker}").exists() and time.monotonic() < until:
        time.sleep(0.2)
    assert not Path(f"/proc/{worker}").exists()


def _children(process: int) -> list[int]:
    text = Path(f"/proc/{process}/task/{process}/children").read_text()
    return [int(each) for each in text.split()]
