"""The lock files: they hold what pyproject.toml asks for, and what differs from them is named."""

import re
import tomllib
from pathlib import Path

import pytest

from sandglass.install import builds, setup_lab

ASKED = tomllib.loads((builds.ROOT / "pyproject.toml").read_text())


def names(requirements: list[str]) -> set[str]:
    """Without versions, as pip compares them."""
    return {re.split(r"[=<>]", each)[0].lower().replace("_", "-") for each in requirements}


def locked(name: str) -> set[str]:
    lines = (builds.ROOT / name).read_text().splitlines()
    return names([line for line in lines if not line.startswith("#")])


def test_running_needs_nothing_of_the_tests_lock() -> None:
    run, test = locked("requirements.lock"), locked("requirements-dev.lock")
    assert names(ASKED["project"]["dependencies"]) <= run
    assert names(ASKED["dependency-groups"]["dev"]) <= run | test
    assert not run & test


def test_a_package_that_is_missing_or_of_another_version_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "some.lock").write_text("# three\na_b==1.0\nc==2.0\nd==3.0\n")
    monkeypatch.setattr(builds, "ROOT", tmp_path)
    monkeypatch.setattr(setup_lab, "python_version", {"a_b": "1.0", "c": "2.1"}.get)
    assert setup_lab.differing("some.lock") == ["c", "d"]
