"""The lessons, gone through in the order of the text: what commands say is what stands there."""

import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from sandglass.install.builds import ROOT
from tests.documents import edited

HOME = "/home/me/sandglass"
TUTORIAL = ROOT / "docs" / "tutorial"
LESSONS = sorted(TUTORIAL.glob("[1-9]-*.md"))
QUICK = TUTORIAL / "3-bufferbloat.md"
FENCED = re.compile(r"^```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
# What another machine or another kernel release changes.
VARIES = re.compile(r"\d+ times as fast|completed in \S+ seconds")
LEFT_OUT = "…"
LARGEST_PICTURE = 120_000


def shown(block: str) -> Iterator[tuple[str, list[str]]]:
    """Each command in a block with the lines below it."""
    for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        command, *lines = part.splitlines()
        while command.endswith("\\"):
            command = command[:-1] + lines.pop(0).removeprefix("> ")
        yield command, lines


def common(text: str) -> list[str]:
    """Lines without what varies, and without blanks at the end of each and of all."""
    return [VARIES.sub(LEFT_OUT, line).rstrip() for line in text.rstrip().splitlines()]


def found(expected: list[str], said: list[str]) -> bool:
    """Whether that is what was said, with more only where lines, or parts of one, are left out."""
    lines = (r"(?:.*\n)*" if line == LEFT_OUT else _rest(line) for line in expected)
    pattern = "".join(lines)
    return re.fullmatch(pattern, "".join(f"{line}\n" for line in said)) is not None


def _rest(line: str) -> str:
    """What matches a line of which something may be left out."""
    return ".+".join(map(re.escape, line.split(LEFT_OUT))) + r"\n"


@pytest.mark.parametrize("lesson", LESSONS, ids=[path.stem for path in LESSONS])
def test_no_digest_is_printed(lesson: Path) -> None:
    """It is another one with each lab, so that no reader would get it."""
    assert not re.search("[0-9a-f]{64}", lesson.read_text())


class Student:
    """Who types the commands of a lesson, in the checkout."""

    def __init__(self, checkout: Path) -> None:
        self.checkout = checkout
        self.environment = os.environ | {"COLUMNS": "80", "PWD": str(checkout)}

    def types(self, command: str) -> list[str]:
        """What a command says; it must succeed."""
        if command.startswith("export "):
            name, value = command.removeprefix("export ").split("=")
            self.environment[name] = value.replace("$PWD", str(self.checkout))
            return []
        done = subprocess.run(
            command,
            shell=True,
            cwd=self.checkout,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout
        return common(done.stdout.replace(str(self.checkout), HOME))

    def edits(self, difference: str) -> None:
        """Change the one module of the tutorial as a block shows."""
        source = self.checkout.parent / "aqm" / "kmods" / "sch_mine" / "sch_mine.c"
        source.write_text(edited(source.read_text(), difference))


@pytest.mark.lab
@pytest.mark.parametrize(
    "lesson",
    [
        pytest.param(path, id=path.stem, marks=[] if path == QUICK else pytest.mark.thorough)
        for path in LESSONS
    ],
)
def test_a_lesson_is_as_shown(lesson: Path, clone: Path) -> None:
    student = Student(clone)
    for kind, block in FENCED.findall(lesson.read_text()):
        if kind == "diff":
            student.edits(block)
        elif kind == "console":
            for command, expected in shown(block):
                said = student.types(command)
                assert found(common("\n".join(expected)), said), (command, said)
    assert (clone / "results" / "tutorial" / f"{lesson.stem}.svg").is_file()


def test_each_text_has_results_of_its_own() -> None:
    """Lessons and pages are gone through side by side in one checkout."""
    texts = [path.read_text() for path in (*LESSONS, ROOT / "docs" / "view.md", ROOT / "README.md")]
    written = [name for text in texts for name in {*re.findall(r"--out (results/\S+)", text)}]
    assert sorted(written) == sorted({*written})


@pytest.mark.parametrize("lesson", LESSONS, ids=[path.stem for path in LESSONS])
def test_a_lesson_shows_its_picture_and_its_files(lesson: Path) -> None:
    text = lesson.read_text()
    picture = lesson.with_suffix(".svg")
    assert f"]({picture.name})" in text
    assert picture.stat().st_size < LARGEST_PICTURE
    for target in re.findall(r"\]\(([^):#]+)\)", text):
        assert (TUTORIAL / target).exists(), target
    for kind, block in FENCED.findall(text):
        if kind in ("yaml", "python", "c"):
            files = [path for path in TUTORIAL.rglob("*") if path.suffix in (".yaml", ".py", ".c")]
            assert any(block in path.read_text() for path in files), block


def test_the_index_names_all_lessons() -> None:
    index = (TUTORIAL / "README.md").read_text()
    assert len(LESSONS) == 8
    assert re.findall(r"\]\((\d-.*?\.md)\)", index) == [path.name for path in LESSONS]
