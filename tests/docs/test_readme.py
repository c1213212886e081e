"""The README's commands work as they stand there, and its links lead somewhere."""

import re
import subprocess
from pathlib import Path

import pytest

from sandglass.install.builds import ROOT
from tests.conftest import copy_checkout

README = (ROOT / "README.md").read_text()
PROMPT = "mininet> "
FIRST = "./sandglass reproduce abe/fig03 abe/fig05 abe/fig11"
SITE = "./sandglass docs                # then open results/site/index.html"
FENCED = re.findall(r"^```(\w*)\n(.*?)^```$", README, re.DOTALL | re.MULTILINE)
LINES = [line for kind, block in FENCED if not kind for line in block.splitlines()]
COMMANDS = [line for line in LINES if line.startswith("./sandglass")]
TYPED = "".join(line.removeprefix(PROMPT) + "\n" for line in LINES if line.startswith(PROMPT))


def test_all_commands_are_understood() -> None:
    assert "./sandglass test" in COMMANDS  # this is it
    assert all(line.startswith(("./sandglass ", PROMPT)) for line in LINES)


@pytest.mark.lab
@pytest.mark.parametrize(
    "command",
    [line for line in dict.fromkeys(COMMANDS) if line not in (FIRST, SITE, "./sandglass test")],
)
def test_a_command_of_the_readme_works(command: str, clone: Path) -> None:
    done = subprocess.run(
        command, shell=True, cwd=clone, input=TYPED, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    if " shell " in command:
        assert "3 packets transmitted, 3 received" in done.stdout
        assert "qdisc htb" in done.stdout


@pytest.mark.lab
def test_the_papers_of_the_readme_are_reproduced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the runs that whoever has given it before has kept."""
    monkeypatch.delenv("SANDGLASS_RUNS_LIMIT")
    assert FIRST in COMMANDS
    checkout = copy_checkout(tmp_path / "checkout")
    done = subprocess.run(FIRST.split(), cwd=checkout, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    for page in re.findall(r"`(results/abe/\w+\.html)`", README):
        assert f"see {page}" in done.stdout.splitlines()
        assert (checkout / page).stat().st_size > 10_000
    assert (checkout / "results" / "abe" / "fig11.svg").is_file()


def test_the_experiment_shown_is_the_example() -> None:
    (shown,) = (block for kind, block in FENCED if kind == "yaml")
    assert shown.strip() in (ROOT / "examples" / "codel.yaml").read_text()


def test_the_demo_shown_is_what_it_prints(clone: Path) -> None:
    (shown,) = (block for kind, block in FENCED if kind == "text")
    command = ["./sandglass", "demo", "--no-open"]
    done = subprocess.run(command, cwd=clone, capture_output=True, text=True, check=False)
    assert done.stdout.startswith(shown), done.stdout + done.stderr


def test_links_lead_somewhere() -> None:
    for target in re.findall(r"\]\(([^)#]+)[)#]", README):
        assert (ROOT / target).exists(), target
