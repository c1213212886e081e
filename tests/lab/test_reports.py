"""What a kernel has found wrong is taken from its console."""

from pathlib import Path

import pytest

from sandglass.errors import SandglassError
from sandglass.lab import reports

SPLAT = """\
a program says: WARNING: nothing of the kernel's
[   12.000001] ==================================================================
[   12.000001] BUG: KASAN: slab-use-after-free in pi2_enqueue+0x1c/0x80 [sch_pi2]
[   12.000001] Read of size 4 at addr 0000000062ff8e08 by task python3/40
@{"kind": "progress"}
[   12.000001] WARNING: CPU: 0 PID: 40 at net/core/dev.c:1 what it brought about
"""
HARMLESS = """\
[    0.000000] HTB: quantum of class 10001 is big. Consider r2q change.
BUG: a program's own
"""


@pytest.fixture
def console(tmp_path: Path) -> Path:
    path = tmp_path / "console.log"
    path.write_text(HARMLESS)
    return path


def test_the_first_report_is_quoted(console: Path) -> None:
    console.write_text(HARMLESS + SPLAT)
    with pytest.raises(SandglassError, match="the kernel reports BUG: KASAN: slab-use") as failure:
        reports.fail_on_report(console, console.parent)
    assert str(failure.value.hint).startswith("Read of size 4")


def test_what_is_no_report_is_none(console: Path) -> None:
    reports.fail_on_report(console, console.parent)


def test_a_report_explains_another_failure(console: Path) -> None:
    console.write_text(SPLAT)
    with pytest.raises(SandglassError, match="KASAN"), reports.looked_for(console, console.parent):
        raise SandglassError("the lab ended with status 250")


def test_another_failure_stays_what_it_is(console: Path) -> None:
    with (
        pytest.raises(SandglassError, match="status 250"),
        reports.looked_for(console, console.parent),
    ):
        raise SandglassError("the lab ended with status 250")
