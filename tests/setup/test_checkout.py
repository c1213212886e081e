"""The project's commit, as run.json names it."""

import shutil
import subprocess
from pathlib import Path

import pytest

from sandglass.install import checkout


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory that is taken for the checkout."""
    monkeypatch.setattr(checkout, "ROOT", tmp_path)
    return tmp_path


def git(root: Path, *words: str) -> str:
    settings = ["-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false"]
    done = subprocess.run(
        ["git", *settings, *words], cwd=root, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


NEEDS_GIT = pytest.mark.skipif(not shutil.which("git"), reason="there is no git here")


@NEEDS_GIT
def test_a_commit_and_whether_a_file_has_changed_since(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    git(root, "init", "--quiet")
    (root / "code").write_text("one")
    git(root, "add", "code")
    git(root, "commit", "--quiet", "--message", "One")
    git(root, "tag", "--annotate", "--message", "A release", "v1")
    commit = git(root, "rev-parse", "--short=12", "HEAD")
    assert checkout.commit() == commit
    monkeypatch.setenv("GIT_DIR", str(root.parent))  # of a hook that calls us
    assert checkout.commit() == commit
    (root / "code").write_text("two")
    assert checkout.commit() == f"{commit}-dirty"


def test_an_image_has_a_note_instead(root: Path) -> None:
    assert checkout.commit() == "unknown"
    (root / ".commit").write_text("123456789abc\n")
    assert checkout.commit() == "123456789abc"


@NEEDS_GIT
def test_no_other_repository_counts(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An unpacked archive may lie in somebody's repository."""
    git(root, "init", "--quiet")
    (root / "sandglass").mkdir()
    monkeypatch.setattr(checkout, "ROOT", root / "sandglass")
    assert checkout.commit() == "unknown"


def test_a_repository_that_git_refuses(root: Path) -> None:
    (root / ".git").write_text("gitdir: nowhere\n")
    assert checkout.commit() == "unknown"
