"""A bundle is made and repeated, by the commands of docs/bundle.md."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from sandglass.install import builds
from tests.bundle.test_bundle import NEEDS_GIT, crate_files, git, validated
from tests.conftest import copy_checkout

PAGE = (builds.ROOT / "docs" / "bundle.md").read_text()
SHOWN, COMPARED = re.findall(r"^```\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
COMMANDS = SHOWN.splitlines()
NO_NETWORK = ["unshare", "--map-root-user", "--net"]
NAME = "artifact"
# Packages for other Pythons would only be fetched and looked at.
HERE = "--python {}.{}".format(*sys.version_info[:2])

pytestmark = [pytest.mark.lab, NEEDS_GIT]


def offline() -> list[str]:
    """What a command without a network begins with, where one may do that to a process."""
    possible = subprocess.run([*NO_NETWORK, "true"], capture_output=True, check=False)
    return NO_NETWORK if possible.returncode == 0 else []


def called(checkout: Path, command: str, *before: str) -> str:
    """What a command says, in the checkout."""
    done = subprocess.run(
        [*before, "sh", "-c", command], cwd=checkout, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.thorough
def test_a_bundle_is_repeated_without_a_network(tmp_path: Path) -> None:
    checkout = copy_checkout(tmp_path / "checkout")
    shutil.copy(builds.ROOT / ".gitignore", checkout)  # what Python leaves behind is no change
    git(checkout, "init", "--quiet")
    git(checkout, "add", ".")
    git(checkout, "commit", "--quiet", "--message", "One")
    run, make, unpack, repeat = COMMANDS
    called(checkout, run)
    called(checkout, f"{make} {HERE}")
    bundle, compare = COMPARED.splitlines()
    called(checkout, f"{bundle} {HERE}")
    shutil.rmtree(checkout / "results")
    assert "1 of 1 figures are as in the reference" in called(checkout, compare)
    called(checkout, unpack)
    home = checkout / NAME
    there = set(checkout.iterdir())
    said = called(checkout, repeat, *offline())
    assert len(re.findall(r"^equal .* results/runs/", said, re.M)) == 3
    assert re.findall(r"^equal .* (results/abe/.*)", said, re.M) == [
        "results/abe/fig05.csv",
        "results/abe/fig05.verdicts.csv",
    ]
    assert set(checkout.iterdir()) == there
    judged = validated(home, tmp_path)
    assert (judged["issues"], judged["passed"]) == ([], True)
    assert "sandglass.lab" in crate_files(home)
