"""docs/pipeline.md: Snakemake by itself, in a shell to which `sandglass env` has been read."""

import re
import shutil
import subprocess
import textwrap
from pathlib import Path

import pytest
import yaml

from sandglass.install import builds
from sandglass.papers import claims, grid, shelf
from sandglass.papers.profiles import PROFILES
from sandglass.papers.variants import Variant
from tests.conftest import copy_checkout
from tests.pipeline.test_workflow import assert_all_of_abe

PAGE = (builds.ROOT / "docs" / "pipeline.md").read_text()
COMMANDS = re.findall(r"^snakemake .*$", PAGE, re.M)
ENV = ". <(./sandglass env)"


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return copy_checkout(tmp_path_factory.mktemp("docs") / "checkout")


def shell(checkout: Path, script: str, program: str = "bash") -> subprocess.CompletedProcess[str]:
    """A shell that finds nothing but the system's programs, but for what it reads."""
    return subprocess.run(
        [program, "-c", f"set -e\nPATH=/usr/bin:/bin\n{ENV}\n{script}"],
        cwd=checkout, capture_output=True, text=True, check=False,
    )  # fmt: skip


def test_the_page_says_how() -> None:
    assert len(COMMANDS) == 2
    assert PAGE.index(ENV) < PAGE.index(COMMANDS[0])


def test_runs_are_as_many_as_it_says() -> None:
    """How long they take is measured by hand, and is another time's where their number is."""
    [number] = re.findall(r"quick takes some \w+ minutes \((\d+) runs;", PAGE)
    figures = shelf.paper("abe").figures
    assert int(number) == len(
        {p.directory for name in figures for p in grid.points("abe", name, "quick")}
    )


def shown(section: str) -> str:
    """The first block of YAML below a step of "Add a figure"."""
    block = PAGE.partition(f"**{section}")[2].partition("```yaml")[2]
    return textwrap.dedent(block.partition("```")[0])


def test_the_figure_shown_is_as_it_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tmp_path / "mine"
    (home / "experiments").mkdir(parents=True)
    monkeypatch.setenv("SANDGLASS_PAPERS", str(home))
    head = "paper: Me\ntitle: Mine\nagreement: {percent: 20, least: {'%': 5, ms: 2.4}}\n"
    (home / "paper.yaml").write_text(head)
    (home / "why_delayed_ack.yaml").write_text("")
    (home / "fig05_start.yaml").write_text("")
    told = shown("What it is and what is run") + shown("What the paper says of it")
    (home / "fig03.yaml").write_text(told)
    for name in ("codel", "pie", "droptail"):
        (home / "experiments" / f"fig03-{name}.yaml").write_text("title: x\n")
    runs = {profile: len(grid.points("mine", "fig03", profile)) for profile in PROFILES}
    assert runs == {"smoke": 5, "quick": 10, "paper": 14}
    first, second, *_, last = claims.claims("mine", "fig03")
    assert first.id == "half-bdp-never-drains"
    assert (second.id, last.id) == ("codel-0.7-at-400ms", "pie-0.85-at-400ms")
    assert second.expected.endswith("(agrees with 13 %): at least 8, at most 18 %")


def test_the_variant_shown_is_one() -> None:
    block = PAGE.partition("## Variants")[2].partition("```yaml")[2].partition("```")[0]
    found = Variant.model_validate(yaml.safe_load(block))
    ours = shelf.paper("dctcp_internet@as_tabulated").otherwise
    assert ours
    alike = [(each.key, each.to) for each in found.changes]
    assert alike == [(each.key, each.to) for each in ours.changes]


@pytest.mark.thorough
@pytest.mark.lab
def test_plain_snakemake(checkout: Path) -> None:
    assert COMMANDS[1].endswith(" abe --config profile=paper")
    assert_all_of_abe(shell(checkout, f"{COMMANDS[1]} --dry-run"), "paper")


@pytest.mark.thorough
@pytest.mark.lab
def test_a_figure_by_plain_snakemake(checkout: Path) -> None:
    done = shell(checkout, COMMANDS[0])
    assert done.returncode == 0, done.stdout + done.stderr
    assert (checkout / "results/abe/fig05.svg").is_file()


@pytest.mark.parametrize("program", ["bash", "zsh"])
def test_the_programs(checkout: Path, program: str) -> None:
    if shutil.which(program) is None:
        pytest.skip(f"the Debian package {program} is not installed")
    done = shell(
        checkout, "cd /; sandglass --help | head -1; python -c 'import sandglass'", program
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("Usage: sandglass")
