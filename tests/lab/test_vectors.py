"""Floating point and vector registers, which a program keeps whatever it is stopped for."""

from pathlib import Path

import pytest

from tests.lab.conftest import Cli
from tests.lab.test_host_processor import compiled, kernel

__all__ = ["kernel"]

pytestmark = pytest.mark.lab
SOURCE = Path(__file__).with_name("vectors.c").read_text()


@pytest.mark.usefixtures("kernel")
def test_they_hold_what_was_put_there(sandglass: Cli, tmp_path: Path) -> None:
    done = sandglass("exec", compiled(tmp_path, SOURCE, "-O2", "-pthread"))
    assert done.returncode == 0, done.stdout + done.stderr
    told = dict(line.split(": ") for line in done.stdout.splitlines())
    assert len(told) == 11
    assert {what: found for what, found in told.items() if found != "holds"} == {}
