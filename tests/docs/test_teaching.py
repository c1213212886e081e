"""docs/teaching.md: its commands work, its keys are those of the code, and its scripts run."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from sandglass.grading import sheet
from sandglass.install.builds import ROOT

DOCUMENT = (ROOT / "docs" / "teaching.md").read_text()
FENCED = re.findall(r"^```(\w*)\n(.*?)^```$", DOCUMENT, re.DOTALL | re.MULTILINE)
COMMANDS = [
    line for kind, block in FENCED if not kind for line in block.splitlines() if line.strip()
]
ROUTER = ROOT / "examples/assignments/router"


def block(kind: str, word: str) -> str:
    """The example of a language that has a word in it."""
    found: list[str] = [text for each, text in FENCED if each == kind and word in text]
    assert len(found) == 1
    return found[0]


@pytest.mark.thorough
@pytest.mark.lab
@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_works(command: str) -> None:
    done = subprocess.run(
        command.split(),
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_the_example_is_a_grade_file(tmp_path: Path) -> None:
    (tmp_path / "GRADE.yaml").write_text(block("yaml", "checks:"))
    assert sheet.read(tmp_path / "GRADE.yaml").most == 4


@pytest.mark.parametrize("kind", sheet.KINDS)
def test_every_key_is_described(kind: str) -> None:
    common, *parts = re.split(r"^### ", DOCUMENT, flags=re.MULTILINE)
    (own,) = (part for part in parts if part.startswith(f"{kind}\n"))
    for key in sheet.KINDS[kind].model_fields:
        assert re.search(rf"`{key}\b", common + own), key


def installed(place: Path) -> Path:
    """A program called sandglass, as an installed package has one."""
    program = place / "sandglass"
    program.write_text(
        f"#!/bin/sh\nPYTHONPATH='{ROOT / 'src'}' exec '{sys.executable}' -P -m sandglass \"$@\"\n"
    )
    program.chmod(0o755)
    return program


@pytest.mark.thorough
@pytest.mark.lab
def test_what_gradescope_runs_writes_its_results(tmp_path: Path) -> None:
    home = tmp_path / "autograder"
    shutil.copytree(ROUTER / "solution", home / "submission")
    (home / "results").mkdir()
    (home / "source").mkdir()
    shutil.copy(ROUTER / "GRADE.yaml", home / "source")
    script = (
        block("sh", "#!/bin/sh")
        .replace("/autograder", str(home))
        .replace("/opt/sandglass/bin/sandglass", str(installed(tmp_path)))
        .replace("export SANDGLASS_SANDBOX=landlock-files\n", "")
    )
    done = subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads((home / "results/results.json").read_text())
    assert found["score"] == 12
    assert [each["status"] for each in found["tests"]] == ["passed"] * 3


@pytest.mark.lab
def test_the_cell_for_nbgrader_is_the_points(tmp_path: Path) -> None:
    """As its partial credit wants them: a number, the value of the last line."""
    (tmp_path / "GRADE.yaml").write_text(
        "title: t\n"
        "checks: [{id: a, title: t, points: 3, kind: output, command: x.py, lines: right}]\n"
    )
    own = tmp_path / "own"
    own.mkdir()
    (own / "x.py").write_text("print('right')\n")
    installed(tmp_path)
    cell = block("python", "subprocess")
    cell = cell.replace("/srv/course/router/GRADE.yaml", str(tmp_path / "GRADE.yaml"))
    *before, last = cell.rstrip().splitlines()
    done = subprocess.run(
        [sys.executable, "-c", "\n".join([*before, f"print(repr({last}))"])],
        cwd=own,
        env=os.environ | {"PATH": f"{tmp_path}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stdout.strip(), done.stderr) == ("3.0", "")
