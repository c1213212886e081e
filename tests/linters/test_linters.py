"""What linters find; nothing of it changes a file."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from sandglass.install import builds

SCRIPTS = (
    "sandglass",
    "setup/lock",
    "setup/packages",
    "setup/python",
    "container/build",
    "profiles/kubernetes/pod",
    ".ci/run",
    ".ci/key",
    ".ci/experiments",
)
RULES = sorted(
    str(path.relative_to(builds.ROOT)) for path in builds.ROOT.glob("pipelines/**/*.smk")
)
LINTERS = {
    "mypy": ["mypy"],
    "ruff-check": ["ruff", "check", "."],
    "ruff-format": ["ruff", "format", "--check", "."],
    "deptry": ["deptry", "."],
    "import-linter": ["lint-imports", "--no-cache"],
    "snakefmt": ["snakefmt", "--check", "Snakefile", *RULES],
    "shellcheck": ["shellcheck", *SCRIPTS],
    "shfmt": ["shfmt", "--indent", "4", "--diff", *SCRIPTS],
}


@pytest.mark.parametrize("command", LINTERS.values(), ids=list(LINTERS))
def test_it_has_nothing_to_say(command: list[str]) -> None:
    tool = Path(sys.executable).with_name(command[0])
    kept = builds.directory() / "linters"
    own = {
        "MYPY_CACHE_DIR": str(kept / "mypy"),
        "RUFF_CACHE_DIR": str(kept / "ruff"),
        "PYTHONPATH": f"{builds.ROOT / 'src'}:{builds.ROOT}",
    }
    done = subprocess.run(
        [tool, *command[1:]],
        cwd=builds.ROOT,
        env=os.environ | own,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
