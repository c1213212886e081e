"""Sandglass's checks of itself: linters, type checks, tests and benchmarks."""

import subprocess
import sys
from pathlib import Path

from sandglass.errors import UsageError, nearest
from sandglass.install import builds

SCRIPTS = (
    "sandglass",
    "setup/packages",
    "setup/python",
    "container/build",
    "profiles/kubernetes/pod",
    ".ci/run",
    ".ci/key",
    ".ci/experiments",
)


def linters() -> dict[str, list[str]]:
    """What is run before the tests, by name; nothing of it changes a file."""
    rules = [str(path.relative_to(builds.ROOT)) for path in builds.ROOT.glob("pipelines/**/*.smk")]
    return {
        "ruff check": ["ruff", "check", "."],
        "ruff format": ["ruff", "format", "--check", "."],
        "mypy": ["mypy"],
        "snakefmt": ["snakefmt", "--check", "Snakefile", *sorted(rules)],
        "shellcheck": ["shellcheck", *SCRIPTS],
        "shfmt": ["shfmt", "--indent", "4", "--diff", *SCRIPTS],
    }


def test(words: list[str]) -> int:
    """Linters, then pytest, whose closing line is the last; `words` are pytest's.

    With words of pytest's own only the tests are run, for someone at work on a few of them.
    Returns an exit status: 0 only when everything passed.
    """
    failed = [] if words else [name for name, command in linters().items() if not passes(command)]
    tests = python_tool("pytest", *words)
    if failed:
        print(f"sandglass: failed before the tests: {', '.join(failed)}", file=sys.stderr)
    return tests or bool(failed)


def passes(command: list[str]) -> bool:
    """Run a linter; what it says is shown only when it finds something."""
    tool = Path(sys.executable).with_name(command[0])
    done = subprocess.run(
        [tool, *command[1:]],
        cwd=builds.ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if done.returncode:
        print(f"{' '.join(command[:2])}:\n{done.stdout}", flush=True)
    return done.returncode == 0


def python_tool(*command: str) -> int:
    return subprocess.run([sys.executable, "-m", *command], cwd=builds.ROOT, check=False).returncode


def benchmarks(names: list[str]) -> list[Path]:
    """The scripts of bench/ with these names, all without any; raises UsageError on another."""
    scripts = {path.stem: path for path in sorted((builds.ROOT / "bench").glob("*.py"))}
    for name in names:
        if name not in scripts:
            raise UsageError(f"there is no benchmark {name!r}{nearest(name, scripts)}")
    return [scripts[name] for name in names or scripts]


def bench(scripts: list[Path]) -> int:
    """Run benchmarks one after the other; returns the first exit status that is not 0."""
    statuses = [
        subprocess.run([sys.executable, str(script)], cwd=builds.ROOT, check=False).returncode
        for script in scripts
    ]
    return next((status for status in statuses if status), 0)
