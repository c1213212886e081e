"""The workflow of a release, run in this machine: its steps, in clones of this repository.

What needs root, an engine or GitHub (apt-get, docker, gh) is played by programs that take down
their words. What an action does is done here: clone, keep, fetch.
"""

import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from sandglass import __version__
from sandglass.install import builds
from sandglass.release.release import CHOICES
from tests.ci.test_workflows import RELEASE, read
from tests.release.conftest import NEEDS_CLONE

PLAYED = {
    "apt-get": "",
    "docker": '[[ $1 != save ]] || echo "the image"\n',
    "gh": 'printf "%s\\n" "$@" >"$HOME/gh"\n',
}
GIVEN = {"GITHUB_REF_NAME": f"v{__version__}", "GITHUB_REPOSITORY": "owner/sandglass"}


class Runner:
    """Runs the jobs of a workflow one after the other, each in a place of its own below `home`."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.artifacts = home / "artifacts"
        programs = home / "programs"
        programs.mkdir(parents=True)
        for name, text in PLAYED.items():
            (programs / name).write_text(f"#!/usr/bin/env bash\n{text}")
            (programs / name).chmod(0o755)
        own = {key: text for key, text in os.environ.items() if key not in CHOICES}
        cache = {"SANDGLASS_CACHE": str(builds.directory()), "HOME": str(home)}
        self.environment = own | cache | GIVEN
        self.environment["PATH"] = f"{programs}:{os.environ['PATH']}"

    def run(self, jobs: dict[str, Any]) -> None:
        done: set[str] = set()
        for name, job in jobs.items():
            assert {*job.get("needs", [])} <= done
            place = self.home / name
            place.mkdir()
            for step in job["steps"]:
                self.step(step, place)
            done.add(name)

    def step(self, step: dict[str, Any], place: Path) -> None:
        action = step.get("uses", "").partition("@")[0]
        given = step.get("with", {})
        if "run" in step:
            self.command(["bash", "-e", "-c", step["run"]], place)
        elif action == "actions/checkout":
            self.command(["git", "clone", "--quiet", str(builds.ROOT), "."], place)
        elif action == "actions/upload-artifact":
            found = sorted(place.glob(given["path"]))
            assert found, f"{given['path']} is nowhere"
            kept = self.artifacts / given["name"]
            for path in [*found[0].iterdir()] if found[0].is_dir() else found:
                kept.mkdir(parents=True, exist_ok=True)
                shutil.copy(path, kept)
        else:
            assert action == "actions/download-artifact"
            assert given["merge-multiple"]
            for kept in self.artifacts.iterdir():
                shutil.copytree(kept, place / given["path"], dirs_exist_ok=True)

    def command(self, words: list[str], place: Path) -> None:
        done = subprocess.run(
            words, cwd=place, env=self.environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, f"{words[-1]}\n{done.stdout}{done.stderr}"


def shown(place: Path) -> str:
    """What docs/maintaining.md has typed to make a release again, here with this cache."""
    page = (builds.ROOT / "docs" / "maintaining.md").read_text()
    found: list[str] = re.findall(r"```\n( *git clone .*?)```", page, re.DOTALL)
    [text] = found
    for words, ours in {
        "--branch v1.0 . ": f"{builds.ROOT} ",
        "SANDGLASS_CACHE=/tmp/again/cache ": "",
        "/tmp/again": str(place),
    }.items():
        assert words in text
        text = text.replace(words, ours)
    return text


@pytest.mark.thorough
@pytest.mark.newer
@NEEDS_CLONE
def test_the_workflow_makes_what_it_publishes_and_the_same_again(tmp_path: Path) -> None:
    """The commit as it is, and not what was changed since: labs are exported twice."""
    runner = Runner(tmp_path / "runner")
    runner.run(read(RELEASE)["jobs"])
    words = (runner.home / "gh").read_text().splitlines()
    assert words[:3] == ["release", "create", f"v{__version__}"]
    published = {Path(word) for word in words if word.startswith("dist/")}
    there = {Path("dist", path.name) for path in (runner.home / "publish" / "dist").iterdir()}
    assert published == there
    assert {path.suffix for path in published} > {".whl", ".lab", ".gz", ".json", ".sha256"}

    again = tmp_path / "again"
    runner.command(["bash", "-e", "-c", shown(again)], runner.home / "publish" / "dist")
    assert len(list((again / "dist").iterdir())) > 6
