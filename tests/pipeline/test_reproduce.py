"""What `reproduce` takes: papers by name and by path, and how much at once."""

import os
import re
import shutil
from pathlib import Path

import polars as pl
import pytest
import typer

from sandglass.cli import papers
from sandglass.errors import SandglassError, UsageError
from sandglass.install import builds, memory, setup_lab
from sandglass.papers import reference, reproduce, shelf, verdicts
from sandglass.workflow.snakemake import Work
from tests.pipeline.test_workflow import snakemake

AUTHORS = builds.ROOT / "examples" / "module-repository"


@pytest.fixture
def theirs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The author's repository at another place, and the working directory beside it."""
    monkeypatch.delenv("SANDGLASS_PAPERS", raising=False)
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.setattr(os, "environ", os.environ.copy())
    return Path(shutil.copytree(AUTHORS, tmp_path / "theirs"))


@pytest.mark.parametrize("path", ["../theirs/papers/sharing", "../theirs/papers/../papers/sharing"])
def test_a_paper_by_its_path(theirs: Path, path: str) -> None:
    assert reproduce.named(path) == "sharing"
    assert shelf.folder("sharing") == theirs / "papers" / "sharing"
    assert reproduce.targets("sharing") == ["sharing"]
    assert "abe" in shelf.papers()


def test_a_figure_by_its_path(theirs: Path) -> None:
    assert reproduce.named("../theirs/papers/sharing/fig1") == "sharing/fig1"
    assert reproduce.targets("sharing/fig1") == ["results/sharing/fig1.html"]
    with pytest.raises(UsageError, match="sharing has no figure 'fig2', did you mean 'fig1'"):
        reproduce.targets("sharing/fig2")


def test_ours_by_their_paths(theirs: Path) -> None:
    assert reproduce.named(str(builds.ROOT / "pipelines" / "abe" / "fig03")) == "abe/fig03"
    assert "SANDGLASS_PAPERS" not in os.environ


def test_ours_by_name_wherever_one_is(theirs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(theirs / "papers" / "sharing", Path("abe"))
    assert reproduce.named("abe/fig03") == "abe/fig03"
    assert "SANDGLASS_PAPERS" not in os.environ


def test_a_name_of_ours_is_refused(theirs: Path) -> None:
    (theirs / "papers" / "sharing").rename(theirs / "papers" / "abe")
    reproduce.named("../theirs/papers/abe")
    with pytest.raises(UsageError, match=r"papers/abe: there is a paper abe in .*pipelines/abe"):
        shelf.papers()


@pytest.mark.parametrize("name", ["runs", "reference", "my-paper"])
def test_what_cannot_be_a_name(theirs: Path, name: str) -> None:
    (theirs / "papers" / "sharing").rename(theirs / "papers" / name)
    reproduce.named(f"../theirs/papers/{name}")
    with pytest.raises(UsageError, match=f"'{name}' cannot be a paper's name"):
        shelf.papers()


def test_what_is_no_paper(theirs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UsageError, match=r"\.\./theirs is no paper"):
        reproduce.named("../theirs")
    with pytest.raises(UsageError, match="no paper 'aeb', did you mean 'abe'"):
        reproduce.targets(reproduce.named("aeb"))
    monkeypatch.setenv("SANDGLASS_PAPERS", "../theirs/kmods")
    with pytest.raises(UsageError, match="theirs/kmods holds no paper"):
        shelf.papers()


@pytest.mark.thorough
@pytest.mark.lab
def test_a_paper_of_another_directory(
    theirs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a module of its own; rules of its own are found as well."""
    home = theirs / "papers" / "sharing"
    (home / "rules.smk").write_text(
        'rule theirs:\n    input:\n        "results/sharing/verdicts.csv",\n'
    )
    monkeypatch.setenv("SANDGLASS_PAPERS", str(theirs / "papers"))
    monkeypatch.setenv("SANDGLASS_KMODS", str(theirs / "kmods"))
    done = snakemake(tmp_path, "sharing", "theirs", "--config", "profile=smoke", lab=True)
    assert done.returncode == 0, done.stderr
    judged = pl.read_csv(tmp_path / "results" / "sharing" / "verdicts.csv")
    assert judged["verdict"].to_list() == ["holds", "holds"]
    listed = pl.read_csv(tmp_path / "results" / "sharing" / "runs.csv")
    assert listed["modules"].str.contains("tcp_gaimd:").all()
    assert "How gaimd shares" in (tmp_path / "results" / "sharing" / "report.html").read_text()


@pytest.mark.parametrize(
    ("wanted", "papers"),
    [([None], set(shelf.papers())), (["abe/fig05", "ls_aimd"], {"abe", "ls_aimd"})],
)
def test_the_runs_of_all_papers_that_are_wanted_are_counted(
    wanted: list[str | None], papers: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[Work] = []

    def take(work: Work) -> int:
        told.append(work)
        return 0

    monkeypatch.setattr(reproduce, "run", take)
    words = [word for each in wanted for word in reproduce.targets(each)]
    assert reproduce.snakemake(words, "smoke", None, 1000) == 0
    counted = {rule.removeprefix("run_").rpartition("_")[0] for rule in told[0].parts}
    assert counted == papers


def test_strict_makes_a_failed_claim_a_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """One that is not judged is none, unless it is all that there is."""
    (tmp_path / "results" / "abe").mkdir(parents=True)
    found = reference.verdicts("abe")
    monkeypatch.setattr(builds, "WORK", tmp_path)
    monkeypatch.setattr(setup_lab, "lab", lambda: None)
    monkeypatch.setattr(reproduce, "snakemake", lambda *_: 0)
    chosen = {
        "fig05": [each for each in found if each.verdict == "fails"][:1],
        "fig03": [each for each in found if each.verdict != "fails"][:3],
        "fig04": [found[0].model_copy(update={"verdict": "not judged"})],
    }
    for figure, own in chosen.items():
        file = tmp_path / "results" / "abe" / f"{figure}.verdicts.csv"
        verdicts.Verdict.frame(own).write_csv(file)
    failing = chosen["fig05"][0]
    with pytest.raises(SandglassError, match="1 claims fail") as raised:
        papers.reproduce(["abe/fig03", "abe/fig05"], strict=True)
    assert raised.value.exit_code == 1
    assert raised.value.hint == f"abe/{failing.figure} {failing.claim}"
    with pytest.raises(SandglassError, match="nothing was judged"):
        papers.reproduce(["abe/fig04"], strict=True)
    for words, strict in ((["abe/fig05"], False), (["abe/fig03"], True)):
        with pytest.raises(typer.Exit) as ended:
            papers.reproduce(words, strict=strict)
        assert ended.value.exit_code == 0
    assert "see results/abe/fig03.html" in capsys.readouterr().out


def test_memory_is_what_is_free_and_allowed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    limit = tmp_path / "memory.max"
    monkeypatch.setattr(memory, "MEMINFO", tmp_path / "meminfo")
    monkeypatch.setattr(memory, "LIMITS", (limit, tmp_path / "of_another_version"))
    memory.MEMINFO.write_text("MemTotal:  9000000 kB\nMemAvailable:    8192000 kB\n")
    assert memory.available_mb() == 8000
    limit.write_text("max\n")
    assert memory.available_mb() == 8000
    limit.write_text(f"{3 * 2**30}\n")
    assert memory.available_mb() == 3072


def test_a_run_that_needs_more_than_there_is(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(memory, "available_mb", lambda: 4000)
    assert reproduce.memory_mb("abe/fig03") == 4000
    assert capsys.readouterr().err == ""
    assert reproduce.memory_mb("ls_aimd") == 4000
    said = capsys.readouterr().err
    assert "a run of ls_aimd may need 8500 MB of memory, and 4000 MB are free" in said


@pytest.mark.thorough
@pytest.mark.parametrize(("free_mb", "at_once"), [(5200, 2), (2600, 1), (1000, 1)])
def test_no_more_runs_at_once_than_memory_allows(
    tmp_path: Path, free_mb: int, at_once: int
) -> None:
    """Without a lab each of them fails at once, which does for counting."""
    words = ("--cores", "8", "--resources", f"mem_mb={free_mb}", "--config", "profile=smoke")
    done = snakemake(tmp_path, "results/abe/fig05.csv", *words)
    started = re.findall(r"^Execute (\d+) jobs", done.stdout + done.stderr, re.M)
    assert max(map(int, started)) == at_once
