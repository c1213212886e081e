"""CONTRIBUTING.md and docs/maintaining.md: what they show works, and what they name is there."""

import importlib.util
import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import tomllib
import yaml

import sandglass
from sandglass.experiment import reading
from sandglass.install.builds import ROOT
from sandglass.release import bill, release
from sandglass.run import known
from tests.conftest import copy_checkout
from tests.documents import edited

CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text()
MAINTAINING = (ROOT / "docs" / "maintaining.md").read_text()
CHANGES = (ROOT / "CHANGES.md").read_text()
FENCED = re.compile(r"^( *)```(\w*)\n(.*?)^\1```$", re.DOTALL | re.MULTILINE)
PLACEHOLDER = re.compile(r"NAME|PAPER|FIGURE|SCRIPT|X\.Y|EXPERIMENT|sch_late|requests|\.\.\.|…|\*")
"""What stands for a name of the reader's, or for several."""
MADE_LATER = ("results/", "../")


def section(page: str, heading: str) -> str:
    """What stands below a heading, up to the next one of its level or above."""
    level = heading.split(maxsplit=1)[0]
    _, below = page.split(f"{heading}\n", 1)
    return re.split(rf"^#{{1,{len(level)}}} ", below, maxsplit=1, flags=re.M)[0]


def blocks(page: str) -> list[tuple[str, list[str]]]:
    """The fenced blocks of a page: what kind each is, and its lines without the indent."""
    return [
        (kind, [line.removeprefix(indent) for line in text.splitlines()])
        for indent, kind, text in FENCED.findall(page)
    ]


def commands(page: str) -> list[str]:
    """The lines to be typed, in blocks and in the text."""
    typed = [line for kind, lines in blocks(page) if not kind for line in lines]
    return [*typed, *re.findall(r"`(\S*/sandglass [^`]*)`", FENCED.sub("", page))]


def ours(page: str) -> list[list[str]]:
    """The words of each command of ours, without what stands before it and behind it."""
    found = (re.search(r"\./sandglass ([^;|&>]*)", line) for line in commands(page))
    return [shlex.split(each[1]) for each in found if each]


WORDS = {tuple(words) for page in (CONTRIBUTING, MAINTAINING) for words in ours(page)}
HANDED_ON = ("test", "python")
"""Commands that hand their words on, also --help."""


class Newcomer:
    """Who types what stands there, in a checkout of their own."""

    def __init__(self, checkout: Path) -> None:
        self.checkout = checkout

    def types(self, command: str) -> str:
        """What a command says; it must succeed."""
        done = subprocess.run(
            ["bash", "-ec", command],
            cwd=self.checkout,
            env=os.environ | {"COLUMNS": "200"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout
        return done.stdout

    def edits(self, file: str, difference: list[str]) -> None:
        """Change a file as a block shows."""
        source = self.checkout / file
        block = "".join(f"{line}\n" for line in difference)
        source.write_text(edited(source.read_text(), block))


@pytest.fixture
def newcomer(tmp_path: Path) -> Newcomer:
    return Newcomer(copy_checkout(tmp_path / "checkout"))


@pytest.mark.lab
def test_the_first_change_is_made_as_shown(newcomer: Newcomer) -> None:
    text = section(CONTRIBUTING, "## From a clone to a first change")
    shown = blocks(text)
    first, second = (lines for kind, lines in shown if kind == "diff")
    [check] = (lines[0] for _, lines in shown if lines[0].startswith("./sandglass check"))
    [warning] = re.findall(r"`([^`]* round trips: [^`]*)`", text)
    assert warning not in newcomer.types(check)
    newcomer.edits("src/sandglass/guide/doubts.py", first)
    assert f"it lasts {warning}" in newcomer.types(check)
    newcomer.edits("tests/cli/test_check.py", second)
    assert ["test", "tests/cli/test_check.py"] in ours(text)
    newcomer.types("./sandglass test tests/cli/test_check.py -k meant")


@pytest.mark.lab
def test_an_aqm_begins_as_shown(newcomer: Newcomer) -> None:
    _, lines = blocks(section(CONTRIBUTING, "### Add an AQM"))[0]
    assert "bottleneck  " in newcomer.types("\n".join(lines))
    assert (newcomer.checkout / "results/runs/late/run.json").is_file()


@pytest.mark.lab
def test_a_workload_begins_as_shown(newcomer: Newcomer) -> None:
    shown = blocks(section(CONTRIBUTING, "### Add a workload"))
    assert "pause" in newcomer.types("\n".join(shown[0][1]))
    schema = newcomer.checkout / "docs" / "experiment.schema.json"
    newcomer.types("\n".join(shown[1][1]))
    assert '"requests"' in schema.read_text()
    assert '"requests"' not in json.dumps(reading.schema())  # of this checkout


@pytest.mark.parametrize(
    "words", sorted(words for words in WORDS if words[0] not in HANDED_ON), ids=" ".join
)
def test_a_command_is_understood(words: tuple[str, ...]) -> None:
    """With --help at its end, so that nothing is done."""
    done = subprocess.run(
        [sys.executable, "-P", "-m", "sandglass", *words, "--help"],
        env=os.environ | {"PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"Usage: sandglass {words[0]}")


def test_modules_that_python_is_to_run_are_there() -> None:
    named = [words[2] for words in WORDS if words[:2] == ("python", "-m")]
    assert named
    assert [name for name in named if not importlib.util.find_spec(name)] == []


@pytest.mark.parametrize("page", [CONTRIBUTING, MAINTAINING], ids=["CONTRIBUTING", "maintaining"])
def test_what_it_names_is_there(page: str) -> None:
    """Files and folders: by their path in the checkout, or in src/sandglass."""
    marked = re.findall(r"`([^`\s]+)`", FENCED.sub("", page))
    marked += [word for line in commands(page) for word in line.split()]
    named = {word for word in marked if re.fullmatch(r"[\w.-]+(/[\w.-]+)*/?", word) and "/" in word}
    named = {name for name in named if not PLACEHOLDER.search(name)}
    named = {name for name in named if not name.startswith(MADE_LATER)}
    assert len(named) > 30
    homes = (ROOT, ROOT / "src" / "sandglass")
    missing = [name for name in named if not any((home / name).exists() for home in homes)]
    assert sorted(missing) == []


def test_the_floors_are_those_that_are_held() -> None:
    layers = re.search(r"layers = \[(.*?)\]", (ROOT / "pyproject.toml").read_text(), re.S)
    assert layers
    held = re.findall(r"sandglass\.(\w+)", layers[1])
    [table] = re.findall(r"^\| floor .*?\n\n", CONTRIBUTING, re.M | re.S)
    rows = [line.split("|")[1] for line in table.splitlines()[2:] if line]
    told = [name for row in rows for name in re.findall(r"`(\w+)(?:/|\.py)`", row)]
    assert told == held


def test_the_jobs_are_those_of_ci() -> None:
    [table] = re.findall(r"^\| job .*?\n\n", MAINTAINING, re.M | re.S)
    told = re.findall(r"^\| `(\w+)` \|", table, re.M)
    jobs = [
        name
        for file in ("ci.yml", "site.yml")
        for name in yaml.safe_load((ROOT / ".github/workflows" / file).read_text())["jobs"]
    ]
    assert sorted(told) == sorted({*jobs} - {"publish"})


def test_experiments_of_lab_check_are_as_many_as_they_say() -> None:
    assert f"`{len(known.read())} of {len(known.read())} equal`" in MAINTAINING
    assert f"runs {len(known.read())} experiments" in CONTRIBUTING


def test_the_version_is_the_same_everywhere_and_has_its_changes() -> None:
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text())["version"]
    header = (ROOT / "kmods" / "compat.h").read_text()
    assert cited == sandglass.__version__
    assert f'SANDGLASS_VERSION "{cited}"' in header
    assert release.notes(CHANGES, [])


def test_an_archive_is_told_what_is_cited() -> None:
    """Zenodo reads .zenodo.json, with small letters, and takes the version of the tag."""
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert json.loads((ROOT / ".zenodo.json").read_text()) == {
        "title": cited["title"],
        "upload_type": cited["type"],
        "description": cited["abstract"],
        "creators": cited["authors"],
        "license": cited["license"].lower(),
        "keywords": cited["keywords"],
    }
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["license"] == cited["license"] == bill.LICENSE
    assert project["description"].lower() in cited["title"].lower()
