"""A history searched for the commit with which a metric left its bounds."""

import csv
import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from sandglass.cli import app
from sandglass.errors import SandglassError, UsageError
from sandglass.install import builds, setup_lab
from sandglass.results.series import FORMAT
from sandglass.run import runs
from sandglass.studies import bisection
from sandglass.studies.bisection import BAD, GOOD, SKIPPED, Bound, Measured
from tests.setup import trees

COMMITS = 60
EXPERIMENT = builds.ROOT / "examples" / "codel.yaml"
Measure = Callable[[str], Measured]


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
    """A repository of a kernel in small, and its commits, the oldest first."""
    place = trees.repository(tmp_path_factory.mktemp("history") / "linux")
    commits = [trees.git(place, "rev-parse", "HEAD")]
    for number in range(1, COMMITS):
        (place / "net" / f"{number % 7}.c").write_text(f"int number = {number};\n")
        commits.append(trees.commit(place, f"net: {number}"))
    return place, commits


def judged(commits: list[str], first_bad: int, broken: range = range(0)) -> Measure:
    """Measures of commits, of which some do not build."""

    def measure(commit: str) -> Measured:
        number = commits.index(commit)
        if number in broken:
            return Measured(commit, f"net: {number}", SKIPPED, why="it is not built")
        return Measured(commit, "", BAD if number >= first_bad else GOOD, float(number))

    return measure


@pytest.mark.parametrize("first_bad", [1, 2, 29, 30, 31, 58, 59])
def test_the_first_bad_commit_is_found(history: tuple[Path, list[str]], first_bad: int) -> None:
    place, commits = history
    before = trees.everything(place)
    found = bisection.search(place, commits[0], "HEAD", judged(commits, first_bad))
    assert found.guilty == (commits[first_bad],)
    assert len(found.measured) <= 8  # both ends, and six halves of 59
    assert len({each.commit for each in found.measured}) == len(found.measured)
    assert trees.everything(place) == before


def test_commits_that_cannot_be_measured_are_passed_over(history: tuple[Path, list[str]]) -> None:
    place, commits = history
    measure = judged(commits, 37, broken=range(25, 34))
    found = bisection.search(place, commits[0], commits[-1], measure)
    assert found.guilty == (commits[37],)
    assert SKIPPED in [each.verdict for each in found.measured]


def test_several_may_be_guilty_where_those_between_cannot_be_measured(
    history: tuple[Path, list[str]],
) -> None:
    place, commits = history
    measure = judged(commits, 37, broken=range(35, 40))
    found = bisection.search(place, commits[0], commits[-1], measure)
    assert set(found.guilty) == set(commits[35:41])


def test_a_history_with_branches_is_searched(tmp_path: Path) -> None:
    """A branch that was begun before the good commit, and merged behind it, is in doubt, too."""
    place = trees.repository(tmp_path / "linux")
    trees.git(place, "checkout", "--quiet", "-b", "side")
    (place / "net" / "side.c").write_text("int side;\n")
    guilty = trees.commit(place, "side")
    trees.git(place, "checkout", "--quiet", "main")
    (place / "net" / "main.c").write_text("int main;\n")
    good = trees.commit(place, "main")
    trees.git(place, "merge", "--quiet", "--no-edit", "side")

    def measure(commit: str) -> Measured:
        has = guilty in trees.git(place, "rev-list", commit).split()
        return Measured(commit, "", BAD if has else GOOD, 0.0)

    assert bisection.search(place, good, "HEAD", measure).guilty == (guilty,)


@pytest.mark.parametrize(
    ("good", "bad", "said"),
    [(0, 30, "is good and not bad: the metric is 30"), (50, 59, "is bad and not good: the metric")],
)
def test_ends_that_are_not_what_they_are_said_to_be_are_refused(
    history: tuple[Path, list[str]], good: int, bad: int, said: str
) -> None:
    place, commits = history
    with pytest.raises(UsageError, match=said):
        bisection.search(place, commits[good], commits[bad], judged(commits, 37))


def test_a_good_commit_behind_the_bad_one_is_refused(history: tuple[Path, list[str]]) -> None:
    place, commits = history
    for good, bad in ((commits[9], commits[3]), (commits[3], commits[3])):
        with pytest.raises(UsageError, match=f"{good[:12]} is no ancestor of {bad[:12]}"):
            bisection.search(place, good, bad, judged(commits, 37))


def test_a_bound_tells_bad_from_good() -> None:
    below, above = Bound(15, above=False), Bound(0.5, above=True)
    assert [below.verdict(value) for value in (14.9, 15.0, 15.1)] == [BAD, GOOD, GOOD]
    assert [above.verdict(value) for value in (0.4, 0.5, 0.6)] == [GOOD, GOOD, BAD]
    assert (str(below), str(above)) == ("below 15", "above 0.5")


def test_the_table_has_every_revision(tmp_path: Path) -> None:
    rows = [
        Measured("a" * 40, "net: a, b", GOOD, 18.5, "0123456789ab", "cd" * 32, 12.5, 3.25),
        Measured("b" * 40, "net: b", SKIPPED, why="it is not built"),
    ]
    bisection.write(tmp_path / "out" / bisection.TABLE, rows)
    with (tmp_path / "out" / bisection.TABLE).open(newline="") as file:
        first, second = csv.DictReader(file)
    assert (first["subject"], first["verdict"], first["value"]) == ("net: a, b", "good", "18.5")
    assert (second["value"], second["why"]) == ("", "it is not built")


class Labs:
    """Takes the place of builds and runs: commit `number` gives a goodput of 20 - `number` / 10."""

    def __init__(self, commits: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.commits = commits
        self.broken: set[int] = set()
        self.now = 0
        monkeypatch.chdir(tmp_path)
        monkeypatch.setenv("SANDGLASS_LAB", "")
        monkeypatch.setattr(setup_lab, "packages", lambda: None)
        monkeypatch.setattr(bisection.Trial, "_lab", self.lab)
        monkeypatch.setattr(runs, "run", self.run)

    def lab(self, commit: str) -> builds.Lab:
        self.now = self.commits.index(commit)
        if self.now in self.broken:
            raise SandglassError("it is not built: see its log")
        return builds.Lab(f"{self.now:012}", "6.12", "kernel", "guest", "root", "build", {})

    def run(self, _: object, __: object, out: Path, *, cached: bool) -> runs.RunResult:
        assert cached
        assert os.environ["SANDGLASS_LAB"] == f"{self.now:012}"
        content = {
            "format": FORMAT,
            "flows": [{"goodput_mbit": 20 - self.now / 10}],
            "digest": f"{self.now:064}",
        }
        out.mkdir(parents=True)
        (out / "run.json").write_text(json.dumps(content))
        return runs.RunResult(out, content, cached=False)


def asked(place: Path, *words: str) -> list[str]:
    """A command line that asks for the first commit below 16.05 Mb/s, the fortieth."""
    metric = ("--metric", "flows.0.goodput_mbit", *(words or ("--below", "16.05")))
    return ["bisect", str(EXPERIMENT), "--tree", str(place), "--good", "HEAD~59", "--bad", "HEAD",
            *metric, "--out", "out"]  # fmt: skip


def test_the_command_names_the_commit_and_keeps_a_table(
    history: tuple[Path, list[str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place, commits = history
    labs = Labs(commits, tmp_path, monkeypatch)
    labs.broken = {29, 30}
    done = CliRunner().invoke(app, asked(place), catch_exceptions=False)
    assert done.exit_code == 0, done.output
    assert f"guilty: {commits[40][:12]} Someone, " in done.output
    assert ": net: 40" in done.output
    with (tmp_path / "out" / bisection.TABLE).open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [rows[0]["commit"], rows[1]["commit"]] == [commits[59], commits[0]]
    for row in rows:
        number = commits.index(row["commit"])
        if number in labs.broken:
            assert (row["verdict"], row["why"]) == (SKIPPED, "it is not built: see its log")
            continue
        assert row["verdict"] == (BAD if number >= 40 else GOOD)
        assert float(row["value"]) == 20 - number / 10
        assert int(row["lab"]) == int(row["digest"]) == number
    assert {commits[40], commits[39]} <= {row["commit"] for row in rows}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "bisect: one bound is missing"),
        (("--below", "1", "--above", "2"), "or one is too many"),
        (("--metric", "flows.0.goodput_mbit +", "--below", "1"), "cannot be read"),
        (("--below", "30"), "is bad and not good: the metric is 20"),
    ],
)
def test_a_question_that_has_no_answer_is_refused(
    history: tuple[Path, list[str]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    words: tuple[str, ...],
    said: str,
) -> None:
    place, commits = history
    Labs(commits, tmp_path, monkeypatch)
    with pytest.raises(UsageError, match=said):
        CliRunner().invoke(app, asked(place, *words or ("--seed", "1")), catch_exceptions=False)
