"""The Snakefile: what it would run in each profile, and from finished runs to the report."""

import os
import re
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import polars as pl
import pytest

from sandglass.install import builds
from sandglass.papers import batches, grid, shelf
from tests.conftest import copy_checkout
from tests.pipeline.synthetic import FIGURES, write_profile

PAGES = [f"results/abe/{figure}.html" for figure in FIGURES]


def snakemake(
    folder: Path, *words: str, lab: bool = False, repository: Path = builds.ROOT
) -> subprocess.CompletedProcess[str]:
    """Snakemake at work in `folder`: the Snakefile is the repository's, the results are not.

    Without `lab` it finds no lab kernel, nor can build one: no kernel is built below a space.
    """
    command = [sys.executable, "-m", "snakemake", "--snakefile", str(repository / "Snakefile")]
    command += ["--directory", str(folder), "--cores", "2", *words]
    environment = os.environ | ({} if lab else {"SANDGLASS_CACHE": str(folder / "no lab")})
    # Snakemake's plugin that tells of its jobs is imported before the Snakefile says from where.
    environment["PYTHONPATH"] = str(repository / "src")
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )


def jobs(finished: subprocess.CompletedProcess[str]) -> dict[str, int]:
    """The numbers of jobs from Snakemake's statistics."""
    output = finished.stdout + finished.stderr
    return {name: int(count) for name, count in re.findall(r"^(\w+) +(\d+)$", output, re.M)}


def directories(profile: str, figures: Iterable[str]) -> set[Path]:
    """The runs behind some figures; those that share a run do it once."""
    points = [point for figure in figures for point in grid.points("abe", figure, profile)]
    return {Path(point.directory) for point in points}


def runs(profile: str, figures: Iterable[str]) -> int:
    return len(directories(profile, figures))


def planned_runs(finished: subprocess.CompletedProcess[str], profile: str) -> int:
    """How many runs the jobs do that Snakemake's statistics name."""
    wanted = batches.counts(["abe"], profile)
    return sum(wanted[name] for name in jobs(finished) if name in wanted)


@pytest.mark.thorough
@pytest.mark.parametrize("profile", ["smoke", "quick"])
def test_dry_run(tmp_path: Path, profile: str) -> None:
    planned = snakemake(tmp_path, "--dry-run", "abe", "--config", f"profile={profile}")
    assert_all_of_abe(planned, profile)


def assert_all_of_abe(planned: subprocess.CompletedProcess[str], profile: str) -> None:
    """A dry run of `abe` has each of its runs and steps; tests/docs has the paper profile's."""
    assert planned.returncode == 0, planned.stdout + planned.stderr
    figures = shelf.paper("abe").figures
    steps = {name: len(figures) for name in ("table", "figure")}
    last = dict.fromkeys(("collect", "list_runs", "report", "abe"), 1)
    of_runs = batches.batches("abe", profile)
    jobs_of_all = {**dict.fromkeys([each.rule for each in of_runs], 1), **steps, **last}
    assert jobs(planned) == {**jobs_of_all, "total": sum(jobs_of_all.values())}
    assert planned_runs(planned, profile) == runs(profile, figures)


def test_figures_share_their_runs() -> None:
    """Fig. 8 shows the delay of what Fig. 7 has run."""
    assert runs("quick", ["fig07", "fig08"]) == runs("quick", ["fig07"])


@pytest.mark.thorough
def test_one_figure_needs_its_own_runs_only(tmp_path: Path) -> None:
    planned = snakemake(tmp_path, "--dry-run", "results/abe/fig05.svg")
    assert planned.returncode == 0, planned.stderr
    assert planned_runs(planned, "quick") == 2
    of_runs = {name: 1 for name in jobs(planned) if name.startswith("run_")}
    assert jobs(planned) == {**of_runs, "table": 1, "figure": 1, "total": 2 + len(of_runs)}


@pytest.mark.thorough
def test_paper_does_not_run_again_what_quick_has_run(tmp_path: Path) -> None:
    """All of Fig. 5; Fig. 3 has one run of a point in quick, and replicas of it in paper."""
    write_profile(tmp_path, "quick")
    planned = snakemake(tmp_path, "--dry-run", *PAGES, "--config", "profile=paper", "papers=abe")
    assert planned.returncode == 0, planned.stderr
    new = directories("paper", FIGURES) - directories("quick", FIGURES)
    assert planned_runs(planned, "paper") == len(new)
    assert directories("quick", ["fig05"]) == directories("paper", ["fig05"])


@pytest.mark.thorough
def test_another_paper_is_not_planned(tmp_path: Path) -> None:
    """And what is planned is the same as with all of them."""
    one, all_of_them = (
        snakemake(
            tmp_path, "--dry-run", "results/ls_aimd/delays.svg", "--config", f"papers={named}"
        )
        for named in ("ls_aimd,dualq", "all")
    )
    assert one.returncode == 0, one.stderr
    assert jobs(one) == jobs(all_of_them)
    left_out = snakemake(tmp_path, "--dry-run", "abe", "--config", "papers=ls_aimd,dualq")
    assert left_out.returncode == 1
    assert "MissingRuleException" in left_out.stdout + left_out.stderr


def test_an_unknown_profile(tmp_path: Path) -> None:
    planned = snakemake(tmp_path, "--dry-run", "abe", "--config", "profile=fast")
    assert planned.returncode == 1
    assert "there is no profile 'fast'" in planned.stdout + planned.stderr


def test_from_runs_to_report(tmp_path: Path) -> None:
    """Made-up runs of the quick profile become tables, figures, verdicts and the page."""
    write_profile(tmp_path, "quick")
    done = snakemake(tmp_path, *PAGES, "--config", "papers=abe")
    assert done.returncode == 0, done.stderr
    results = tmp_path / "results" / "abe"
    for figure in FIGURES:
        for suffix in ("svg", "png", "csv"):
            assert (results / f"{figure}.{suffix}").stat().st_size > 0
    verdicts = pl.concat([pl.read_csv(results / f"{name}.verdicts.csv") for name in FIGURES])
    outcome = dict(verdicts.select("claim", "verdict").iter_rows())
    assert outcome["codel-falls-with-rtt"] == "holds"
    assert outcome["one-bdp-significant-delay"] == "fails"
    page = (results / "fig05.html").read_text()
    assert "0123456789ab" in page
    assert "45 times real time" in page
    assert "Fig. 3" not in page

    again = snakemake(tmp_path, "--dry-run", *PAGES)
    assert "Nothing to be done" in again.stdout + again.stderr


@pytest.mark.thorough
def test_a_failed_run_is_named_and_the_others_go_on(tmp_path: Path) -> None:
    """Without a lab no run can be done; what is there is finished, what failed has its log."""
    write_profile(tmp_path, "smoke")
    broken = tmp_path / "results/runs/abe/fig03-pie"
    for run in broken.iterdir():
        (run / "packets.parquet").unlink()
        (run / "run.json").unlink()
    done = snakemake(tmp_path, "results/abe/fig03.svg", "results/abe/fig05.svg",
                     "--config", "profile=smoke", "papers=abe")  # fmt: skip
    assert done.returncode == 1
    assert "results/logs/abe/fig03.table.log" in done.stderr
    assert "run.json: No such file or directory" in done.stderr
    assert not (tmp_path / "results/abe/fig03.csv").exists()
    assert (tmp_path / "results/abe/fig05.svg").exists()


@pytest.mark.thorough
@pytest.mark.lab
def test_fig05_twice_in_the_lab(tmp_path: Path) -> None:
    """From experiment to page, and the same bytes again elsewhere."""
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        words = ["results/abe/fig05.html", "--config", "profile=smoke", "papers=abe"]
        done = snakemake(tmp_path / name, *words, lab=True)
        assert done.returncode == 0, done.stderr
    for suffix in ("csv", "svg", "png", "verdicts.csv"):
        one, two = (tmp_path / name / f"results/abe/fig05.{suffix}" for name in ("one", "two"))
        assert one.read_bytes() == two.read_bytes()


@pytest.mark.thorough
@pytest.mark.lab
def test_runs_are_repeated_when_a_module_changes_that_they_name(tmp_path: Path) -> None:
    repository = copy_checkout(tmp_path / "repository")
    # Of flows with abe_reno.
    figure = ["results/abe/fig18.csv", "--config", "profile=smoke", "papers=abe"]

    def plan() -> subprocess.CompletedProcess[str]:
        return snakemake(tmp_path, "--dry-run", *figure, lab=True, repository=repository)

    done = snakemake(tmp_path, *figure, lab=True, repository=repository)
    assert done.returncode == 0, done.stderr
    assert planned_runs(done, "smoke") > 0
    assert "Nothing to be done" in plan().stdout
    for unrelated in ("tcp_reno_acks/tcp_reno_acks.c", "sch_predict/predict.h"):
        with (repository / "kmods" / unrelated).open("a") as source:
            source.write("/* changed */\n")
    assert "Nothing to be done" in plan().stdout
    with (repository / "kmods/tcp_abe/arithmetic.h").open("a") as source:
        source.write("/* changed */\n")
    assert planned_runs(plan(), "smoke") == planned_runs(done, "smoke")
