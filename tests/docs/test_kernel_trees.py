"""docs/kernel-trees.md: its commands are there, and its table says what each patch is for."""

import re
import shlex

import pytest
from typer.testing import CliRunner

from sandglass.cli import app
from sandglass.install import builds, patching

TEXT = (builds.ROOT / "docs" / "kernel-trees.md").read_text()
COMMANDS = re.findall(r"^\./sandglass (.*)$", TEXT, re.M)


def test_there_are_commands() -> None:
    assert {shlex.split(command)[0] for command in COMMANDS} == {"lab", "run", "study", "bisect"}


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_has_the_options_that_are_shown(command: str) -> None:
    """The tests of labs of trees and of bisections do what they say."""
    done = CliRunner().invoke(app, [*shlex.split(command), "--help"])
    assert done.exit_code == 0, done.output


def test_the_table_says_what_each_patch_is_for() -> None:
    rows = []
    for name, each in patching.guarantees().items():
        said = f"**needed**: {each.needed}" if each.needed else each.keeps
        rows.append(f"| {int(name[:4])} | {said} |")
    assert "\n".join(rows) in TEXT


@pytest.mark.parametrize("kernel", builds.kernels())
def test_the_patches_of_each_series_are_counted(kernel: str) -> None:
    count = len(builds.patches(kernel))
    assert f"| {kernel} | {count} of {count} | Debian's source |" in TEXT
