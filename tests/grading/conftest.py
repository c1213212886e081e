"""Submissions, made and graded."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from sandglass.install import builds

Grade = Callable[..., dict[str, Any]]


def call(*words: object) -> "subprocess.CompletedProcess[str]":
    """The command line of this checkout."""
    return subprocess.run(
        [sys.executable, "-P", "-m", "sandglass", "grade", *map(str, words)],
        env=os.environ | {"PYTHONPATH": str(builds.ROOT / "src")},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def grade(tmp_path: Path) -> Grade:
    """Grades files by checks; returns what --json prints, with all details."""

    def graded(
        checks: str, files: Mapping[str, str], *, mine: Mapping[str, str] | None = None
    ) -> dict[str, Any]:
        course, own = tmp_path / "course", tmp_path / "own"
        for place, texts in ((course, mine or {}), (own, files)):
            place.mkdir(exist_ok=True)
            for name, text in texts.items():
                (place / name).parent.mkdir(parents=True, exist_ok=True)
                (place / name).write_text(text)
        (course / "GRADE.yaml").write_text(f"title: t\nchecks:\n{checks}")
        done = call(course / "GRADE.yaml", own, "--json", "--show-hidden")
        assert done.returncode == 0, done.stdout + done.stderr
        found: dict[str, Any] = json.loads(done.stdout)
        return found

    return graded
