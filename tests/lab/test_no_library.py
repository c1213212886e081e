"""A lab is a program for any Linux: its kernel and its init ask for no library."""

import dataclasses
import subprocess
from pathlib import Path

import pytest

from sandglass.errors import UsageError
from sandglass.install import builds, elf, setup_lab
from sandglass.lab import lab
from tests.lab.conftest import NEWER

pytestmark = pytest.mark.lab
KERNELS = [builds.DEFAULT_KERNEL, pytest.param(NEWER, marks=pytest.mark.newer)]


@pytest.mark.parametrize("kernel", KERNELS)
def test_kernel_and_init_ask_for_no_library(kernel: str) -> None:
    with builds.on(kernel):
        setup_lab.lab()
        found = builds.lab_kernel()
    for program in (found.linux, found.init):
        assert not elf.asks_for_libraries(program), program


def test_a_program_that_asks_for_one_is_told_apart() -> None:
    assert elf.asks_for_libraries(Path("/bin/sh"))


def test_a_lab_of_before_is_refused_in_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = dataclasses.replace(builds.lab_kernel(), linux=Path("/bin/sh"))
    monkeypatch.setattr(builds, "lab_kernel", lambda: before)
    with pytest.raises(UsageError, match="wants libraries of this machine"):
        lab.run_program("absent.py", tmp_path)


def test_the_kernel_starts_by_itself() -> None:
    """It has no environment and no argument but one."""
    done = subprocess.run(
        [builds.lab_kernel().linux, "--version"], env={}, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == builds.lab_kernel().release
