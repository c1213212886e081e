"""What a lab sees: its own programs, this checkout, and of the host nothing else."""

import json
from pathlib import Path

import pytest

from sandglass.install import builds
from sandglass.lab import lab

pytestmark = pytest.mark.lab


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> dict[str, object]:
    home = tmp_path_factory.mktemp("seen")
    (home / "host.json").write_text(json.dumps([str(home), *map(str, Path("/").glob("*"))]))
    lab.run_program("tests/lab/look.py", home)
    return dict(json.loads((home / "seen.json").read_text()))


def test_its_root_is_the_labs(seen: dict[str, object]) -> None:
    files = builds.lab_kernel().root
    assert seen["release"] == (files / "etc/debian_version").read_text()
    assert seen["python"] == (files / "usr/bin/python3").readlink().name
    assert seen["entries"] == sorted(path.name for path in files.iterdir())


def test_nothing_of_the_host_is_there(seen: dict[str, object]) -> None:
    assert seen["visible"] == []
    assert seen["mounts_of_the_host"] == ["/", *sorted([*OPENED, COVERED])]


OPENED = [f"/run/sandglass/{name}" for name in ("code", "lab", "run")]
COVERED = "/usr/lib/x86_64-linux-gnu/tc"
"""Tc's own directory, which one of the lab's covers."""


def test_it_is_read_only_but_for_the_runs_directory(seen: dict[str, object]) -> None:
    assert seen["writable"] == ["/run/sandglass/run"]
