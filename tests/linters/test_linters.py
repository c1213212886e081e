"""What linters find; nothing of it changes a file."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from sandglass.install import builds

SHELL = re.compile(rb"#(!.*\b(ba)?sh| shellcheck shell=sh)\n")
PLACES = (".", "setup", "container", "profiles/*", "src/sandglass/agent/bin", ".ci")


def scripts() -> list[str]:
    """The files that a shell runs."""
    found = [
        path
        for place in PLACES
        for path in builds.ROOT.glob(f"{place}/*")
        if path.is_file() and SHELL.match(path.read_bytes()[:40])
    ]
    return sorted(str(path.relative_to(builds.ROOT)) for path in found)


SCRIPTS = scripts()
RULES = sorted(
    str(path.relative_to(builds.ROOT)) for path in builds.ROOT.glob("pipelines/**/*.smk")
)
PAGES = sorted(
    str(path.relative_to(builds.ROOT))
    for folder in ("src", "docs/site")
    for path in (builds.ROOT / folder).rglob("*.js")
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


@pytest.mark.skipif(shutil.which("node") is None, reason="Debian's package nodejs is not here")
@pytest.mark.parametrize("script", PAGES)
def test_a_page_has_scripts_that_javascript_understands(script: str) -> None:
    done = subprocess.run(
        ["node", "--check", builds.ROOT / script], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
