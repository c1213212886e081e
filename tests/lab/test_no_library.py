"""A lab is a program for any Linux: its kernel and its init ask for no library."""

import struct
import subprocess
from pathlib import Path

import pytest

from sandglass.install import builds, setup_lab
from tests.lab.conftest import NEWER

pytestmark = pytest.mark.lab
KERNELS = [builds.DEFAULT_KERNEL, pytest.param(NEWER, marks=pytest.mark.newer)]
PT_DYNAMIC, PT_INTERP = 2, 3  # <elf.h>


def kinds_of_segments(program: Path) -> set[int]:
    """The types of a program's headers, as <elf.h> numbers them."""
    content = program.read_bytes()
    assert content[:5] == b"\x7fELF\x02"  # of 64 bits
    (start,) = struct.unpack_from("<Q", content, 0x20)
    size, count = struct.unpack_from("<HH", content, 0x36)
    return {struct.unpack_from("<I", content, start + number * size)[0] for number in range(count)}


@pytest.mark.parametrize("kernel", KERNELS)
def test_kernel_and_init_ask_for_no_library(kernel: str) -> None:
    with builds.on(kernel):
        setup_lab.lab()
        found = builds.lab_kernel()
    for program in (found.linux, found.init):
        assert kinds_of_segments(program).isdisjoint({PT_DYNAMIC, PT_INTERP}), program


def test_a_program_that_asks_for_one_is_told_apart() -> None:
    shell = Path("/bin/sh").resolve()
    assert kinds_of_segments(shell) >= {PT_DYNAMIC, PT_INTERP}


def test_the_kernel_starts_by_itself() -> None:
    """It has no environment and no argument but one."""
    done = subprocess.run(
        [builds.lab_kernel().linux, "--version"], env={}, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == builds.lab_kernel().release
