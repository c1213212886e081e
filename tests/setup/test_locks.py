"""The lock files: they hold what pyproject.toml asks for, and what differs from them is named."""

import re
from pathlib import Path

import pytest
import tomllib
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from sandglass.install import builds, setup_lab

ASKED = tomllib.loads((builds.ROOT / "pyproject.toml").read_text())


def names(requirements: list[str]) -> set[str]:
    """Without versions, as pip compares them, and without what is of another Python."""
    wanted = map(Requirement, requirements)
    return {
        canonicalize_name(each.name)
        for each in wanted
        if each.marker is None or each.marker.evaluate()
    }


def locked(name: str) -> set[str]:
    return names(re.findall(r"^[^#\s]+==[^\s;]+", (builds.ROOT / name).read_text(), re.M))


def test_running_needs_nothing_of_the_other_locks() -> None:
    run = locked("requirements.lock")
    optional = ASKED["project"]["optional-dependencies"]
    assert names(ASKED["project"]["dependencies"]) | names(optional["studies"]) <= run
    extras = {name: optional[name] for name in ("notebook", "play")}
    for group, asked in (ASKED["dependency-groups"] | extras).items():
        added = locked(f"requirements-{group}.lock")
        assert names(asked) <= run | added
        assert added
        assert not run & added


@pytest.mark.parametrize("lock", sorted(builds.ROOT.glob("*.lock")), ids=lambda path: path.name)
def test_every_package_is_known_by_the_hashes_of_its_files(lock: Path) -> None:
    """And nothing says where to get it: that is the machine's to know."""
    text = lock.read_text().replace("\\\n", "")
    entries = [line for line in text.splitlines() if not line.startswith("#")]
    assert entries
    for entry in entries:
        assert re.fullmatch(r"[a-z0-9.-]+==\S+( +--hash=sha256:[0-9a-f]{64})+", entry)


def test_a_package_that_is_missing_or_of_another_version_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "some.lock").write_text(
        "# three\na_b==1.0 \\\n    --hash=sha256:0\nc==2.0\nd==3.0\n"
    )
    monkeypatch.setattr(builds, "ROOT", tmp_path)
    monkeypatch.setattr(setup_lab, "python_version", {"a_b": "1.0", "c": "2.1"}.get)
    assert setup_lab.differing("some.lock") == ["c", "d"]
