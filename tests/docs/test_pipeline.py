"""docs/pipeline.md: Snakemake by itself, in a shell to which `sandglass env` has been read."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from sandglass.install import builds
from tests.conftest import copy_checkout

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


@pytest.mark.lab
@pytest.mark.parametrize("command", COMMANDS)
def test_plain_snakemake(checkout: Path, command: str) -> None:
    done = shell(checkout, f"{command} --dry-run")
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"^run_abe_\d+ +1$", done.stdout + done.stderr, re.M)


@pytest.mark.lab
def test_a_figure_by_plain_snakemake(checkout: Path) -> None:
    done = shell(checkout, f"{COMMANDS[0]} --config profile=smoke")
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
