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
    figures = shelf.figures("abe").figures
    assert int(number) == len(
        {p.key for name in figures for p in grid.points("abe", name, "quick")}
    )


def test_the_claims_shown_are_as_it_says() -> None:
    shown = PAGE.partition("**What the paper says of it**")[2].partition("```yaml")[2]
    text = textwrap.dedent(shown.partition("```")[0])
    file = claims.Expectations.model_validate(yaml.safe_load(text))
    assert [claim.id for claim in file.claims("fig05")] == ["half-bdp-never-drains"]
    first, *_, last = file.claims("fig07")
    assert (first.id, last.id) == ("codel-0.7-at-400ms", "pie-0.85-at-400ms")
    assert first.expected.endswith("(agrees with 13 %): at least 8, at most 18 %")


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
