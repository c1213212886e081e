"""The README's commands work as they stand there, and its links lead somewhere."""

import re
import subprocess

import pytest

from sandglass.install.builds import ROOT

README = (ROOT / "README.md").read_text()
PROMPT = "mininet> "
FENCED = re.findall(r"^```(\w*)\n(.*?)^```$", README, re.DOTALL | re.MULTILINE)
LINES = [line for kind, block in FENCED if not kind for line in block.splitlines()]
COMMANDS = [line for line in LINES if line.startswith("./sandglass")]
TYPED = "".join(line.removeprefix(PROMPT) + "\n" for line in LINES if line.startswith(PROMPT))


def sandglass(command: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        command, shell=True, cwd=ROOT, input=TYPED, capture_output=True, text=True, check=False
    )


def test_all_commands_are_understood() -> None:
    assert "./sandglass test" in COMMANDS  # this is it
    assert all(line.startswith(("./sandglass ", PROMPT)) for line in LINES)


@pytest.mark.lab
@pytest.mark.parametrize(
    "command", [line for line in dict.fromkeys(COMMANDS) if line != "./sandglass test"]
)
def test_a_command_of_the_readme_works(command: str) -> None:
    done = sandglass(command)
    assert done.returncode == 0, done.stdout + done.stderr
    if " shell " in command:
        assert "3 packets transmitted, 3 received" in done.stdout
        assert "qdisc htb" in done.stdout


def test_the_experiment_shown_is_the_example() -> None:
    (shown,) = (block for kind, block in FENCED if kind == "yaml")
    assert shown.strip() in (ROOT / "examples" / "codel.yaml").read_text()


def test_links_lead_somewhere() -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", README):
        assert (ROOT / target).exists(), target
