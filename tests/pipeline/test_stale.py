"""What a change of a file makes Snakemake do again: all that depends on it, and nothing else."""

import os
import re
import shutil
from pathlib import Path

import pytest

from sandglass.install import builds
from sandglass.papers import grid, shelf
from tests.conftest import copy_checkout
from tests.pipeline.test_workflow import snakemake

MADE_AT = 1_000_000_000
"""When all was made, in seconds since 1970; sources are older, and what is touched is newer."""
PAGES = ("abe/fig03", "dctcp_internet/fig06", "dctcp_internet/table1", "ls_aimd/delays")
PAPERS = "papers=abe,dctcp_internet,ls_aimd"
STEPS = ("Table of", "Figure and verdicts of", "Page of")


def make(path: Path, at: int = MADE_AT) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("made")
    os.utime(path, (at, at))


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the checkout, older than all that is made of it; a topology lies in it by path."""
    home = copy_checkout(tmp_path_factory.mktemp("checkout") / "sandglass")
    experiment = home / "pipelines/ls_aimd/experiments/1-ramp.yaml"
    experiment.write_text(f"{experiment.read_text()}topology: ../../mine.py\n")
    shutil.copy(home / "topologies" / "dumbbell.py", home / "pipelines" / "mine.py")
    for path in home.rglob("*"):
        os.utime(path, (MADE_AT - 60, MADE_AT - 60))
    return home


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """PAGES and all that is on the way to them, as files of no meaning."""
    home = tmp_path_factory.mktemp("made")
    for page in PAGES:
        paper, figure = page.split("/")
        for point in grid.points(paper, figure, "smoke"):
            for name in ("run.json", ".snakemake_timestamp"):
                make(home / point.directory / name)
        for end in ("csv", "json", "svg", "png", "verdicts.csv", "html"):
            make(home / "results" / f"{page}.{end}")
    return home


def again(folder: Path, repository: Path, *changed: str) -> set[str]:
    """What Snakemake would do after a change of these files, in the words of the rules."""
    pages = [f"results/{page}.html" for page in PAGES]
    for path in changed:
        os.utime(repository / path)
    planned = snakemake(
        folder, "--dry-run", *pages, "--config", "profile=smoke", PAPERS, repository=repository
    )
    for path in changed:
        os.utime(repository / path, (MADE_AT - 60, MADE_AT - 60))
    assert planned.returncode == 0, planned.stderr
    return set(re.findall(r"^Job \d+: (.*)$", planned.stdout + planned.stderr, re.M))


def steps(*pages: str) -> set[str]:
    return {f"{step} {page}" for step in STEPS for page in pages}


def test_without_a_change_there_is_nothing_to_do(folder: Path, repository: Path) -> None:
    assert again(folder, repository) == set()


def test_data_and_modules_of_other_figures(folder: Path, repository: Path) -> None:
    """fig06 and table1 import fig05, and the delays are drawn beside the thesis's own."""
    changed = ("pipelines/dctcp_internet/fig05.py", "pipelines/ls_aimd/thesis-delays.csv")
    found = again(folder, repository, *changed)
    assert found == steps("dctcp_internet/fig06", "dctcp_internet/table1", "ls_aimd/delays")


@pytest.mark.parametrize("room", ["experiment/units.py", "papers/steps.py", "results/series.py"])
def test_code_that_all_figures_share(folder: Path, repository: Path, room: str) -> None:
    assert again(folder, repository, f"src/sandglass/{room}") == steps(*PAGES)


@pytest.mark.thorough
def test_claims_and_titles(folder: Path, repository: Path) -> None:
    """Neither changes a table."""
    changed = (
        *("pipelines/abe/fig03.yaml", "pipelines/dctcp_internet/amended.yaml"),
        "pipelines/ls_aimd/paper.yaml",
    )
    assert again(folder, repository, *changed) == {
        *("Figure and verdicts of abe/fig03", "Page of abe/fig03"),
        *("Figure and verdicts of dctcp_internet/fig06", "Page of dctcp_internet/fig06"),
        *("Figure and verdicts of dctcp_internet/table1", "Page of dctcp_internet/table1"),
        *("Figure and verdicts of ls_aimd/delays", "Page of ls_aimd/delays"),
    }


@pytest.mark.thorough
def test_experiments_and_what_they_name_by_path(folder: Path, repository: Path) -> None:
    changed = ("pipelines/abe/experiments/fig03-droptail.yaml", "pipelines/mine.py")
    found = again(folder, repository, *changed)
    runs = {name for name in found if name.startswith("Run ")}
    assert {name.split()[1].rstrip(",") for name in runs} == {"fig03-droptail", "1-ramp"}
    assert found - runs == steps("abe/fig03", "ls_aimd/delays")


def code_that_decides(repository: Path) -> list[Path]:
    """What is in the folders, and what makes the lab's root.

    QUIC stacks below workloads/ are files of a run, as a user's own are.
    """
    folders = [repository / folder for folder in builds.DECIDE_RUNS]
    recipe = [repository / name for name in builds.ROOT_RECIPE]
    return recipe + [path for folder in folders for path in folder.glob("*.py")]


def test_each_file_that_decides_runs_repeats_them(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is in the lab build, which is part of the key under which runs are kept."""
    monkeypatch.setattr(builds, "ROOT", repository)
    before = builds.lab_build()
    for path in code_that_decides(repository):
        text = path.read_text()
        path.write_text(f"{text}# changed\n")
        assert builds.lab_build() != before, path
        path.write_text(text)
    assert builds.lab_build() == before


def test_no_other_code_repeats_a_run(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pictures, help, wizards, measures, papers."""
    monkeypatch.setattr(builds, "ROOT", repository)
    before = builds.lab_build()
    others = set((repository / "src").rglob("*.py")) - set(code_that_decides(repository))
    assert repository / "src" / "sandglass" / "guide" / "picture.py" in others
    texts = {path: path.read_text() for path in others}
    for path, text in texts.items():
        path.write_text(f"{text}# changed\n")
    after = builds.lab_build()
    for path, text in texts.items():
        path.write_text(text)
    assert after == before


def test_an_editors_files_are_no_code(tmp_path: Path) -> None:
    for name in (".fig1.py.swp", "fig1.py~", "__pycache__/fig1.pyc", "experiments/a.yaml"):
        make(tmp_path / name)
    make(tmp_path / "reference" / "fig1.parquet")
    for name in ("fig1.py", "data/measured.csv", "paper.yaml", "fig1.yaml", "abstract.md"):
        make(tmp_path / name)
    assert shelf.code(tmp_path) == [tmp_path / "data/measured.csv", tmp_path / "fig1.py"]
