"""--help of every command: quick, with an example, and without setting anything up."""

import re
from pathlib import Path

import pytest

from sandglass.experiment import values
from tests.cli.conftest import Cli

COMMANDS = [
    *("setup", "env", "doctor", "demo", "list", "new"),
    *("run", "check", "debug", "verify", "play", "show", "plot", "compare", "view", "export"),
    *(
        "study",
        "bisect",
        "reproduce",
        "bundle",
        "reference",
        "shell",
        "exec",
        "mn",
        "grade",
        "kselftest",
        "python",
        "notebook",
        "trace",
        "wheel",
        "release",
    ),
    *("cache", "bench", "test", "docs", "completion", "lab", "characterise"),
]
OF_LABS = [f"lab {name}" for name in ("build", "list", "export", "import", "remove")]


@pytest.mark.parametrize("command", [*COMMANDS[:-2], *OF_LABS, "characterise qdisc"])
def test_help_has_an_example_and_sets_nothing_up(
    sandglass: Cli, empty_cache: Path, command: str
) -> None:
    done = sandglass(*command.split(), "--help")
    assert (done.returncode, done.stderr) == (0, "")
    assert f"Usage: sandglass {command}" in done.stdout
    assert re.search(rf"Example: (\. <\()?\./sandglass {command}", done.stdout)
    assert not empty_cache.exists()


def test_the_version_and_the_lab(sandglass: Cli) -> None:
    done = sandglass("--version")
    assert (done.returncode, done.stderr) == (0, "")
    assert re.match(r"sandglass \S+, commit \S+\nlab: the lab kernel .* is not built", done.stdout)


def test_help_lists_every_command_in_one_line_each(sandglass: Cli) -> None:
    listing = sandglass("--help").stdout.split("Commands:\n")[1]
    lines = [line.strip() for line in listing.splitlines() if line.strip()]
    assert [line.split()[0] for line in lines] == COMMANDS
    assert not any(line.endswith("...") for line in lines)


def test_run_names_all_that_can_be_recorded(sandglass: Cli) -> None:
    assert ",".join(values.RECORDS) in sandglass("run", "--help").stdout
