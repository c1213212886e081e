"""What a lab imports of the checkout is compiled, by the lab's Python, and again after a change."""

import os
import sys
from pathlib import Path

import pytest

from sandglass.install import builds
from sandglass.lab import bytecode

pytestmark = pytest.mark.lab


@pytest.fixture
def workload(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "workloads").mkdir()
    source = tmp_path / "workloads" / "mine.py"
    source.write_text("RATE = 1\n")
    monkeypatch.setattr(bytecode, "ROOT", tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    return source


def compiled(source: Path) -> Path:
    root = builds.lab_kernel().root
    version = (root / bytecode.PYTHON).readlink().name.removeprefix("python").replace(".", "")
    return source.parent / "__pycache__" / f"{source.stem}.cpython-{version}.pyc"


def test_a_changed_file_is_compiled_again(workload: Path) -> None:
    root = builds.lab_kernel().root
    bytecode.compile_guests(root)
    first = compiled(workload).read_bytes()
    workload.write_text("RATE = 2\n")
    later = compiled(workload).stat().st_mtime_ns + 10**9
    os.utime(workload, ns=(later, later))
    bytecode.compile_guests(root)
    assert compiled(workload).read_bytes() != first


def test_a_file_with_an_error_is_left_to_the_lab(workload: Path) -> None:
    """Which says where it is."""
    workload.write_text("RATE = \n")
    bytecode.compile_guests(builds.lab_kernel().root)
    assert not compiled(workload).exists()


def test_nothing_is_written_where_python_is_told_so(
    workload: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    bytecode.compile_guests(builds.lab_kernel().root)
    assert not compiled(workload).exists()
