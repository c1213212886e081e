"""A machine that lets no process trace another, as some sandboxes of containers do."""

import re
import subprocess
from pathlib import Path

import pytest

from sandglass.cage import seccomp
from sandglass.cage import system_calls as system
from sandglass.install.builds import ROOT
from tests.lab.conftest import NEWER

pytestmark = pytest.mark.lab
EXAMPLE = ROOT / "examples" / "bufferbloat.yaml"


def _there(*words: str, kernel: str = "") -> subprocess.CompletedProcess[str]:
    """A command without ptrace, sockets and namespaces of its own."""

    def forbid() -> None:
        system.prctl(system.PR_SET_NO_NEW_PRIVS, 1)
        seccomp.confine(seccomp.tool_filter())

    command = ["env", f"SANDGLASS_KERNEL={kernel}", str(ROOT / "sandglass"), *words]
    return subprocess.run(
        command,
        preexec_fn=forbid,
        capture_output=True,
        text=True,
        check=False,
    )


def test_it_is_told_and_what_does_without(tmp_path: Path) -> None:
    told = _there("doctor")
    assert told.returncode == 1
    (row,) = (line for line in told.stdout.splitlines() if "ptrace" in line and "not" not in line)
    assert row.startswith("missing")
    assert "SANDGLASS_KERNEL=7.2" in row
    refused = _there("run", str(EXAMPLE), "--out", str(tmp_path / "run"))
    assert refused.returncode == 1
    assert "does not allow a process to trace its children" in refused.stderr
    assert "SANDGLASS_KERNEL=7.2" in refused.stderr


@pytest.mark.newer
def test_the_newer_kernel_runs_the_same_there(tmp_path: Path) -> None:
    done = _there("run", str(EXAMPLE), "--out", str(tmp_path / "run"), kernel=NEWER)
    assert done.returncode == 0, done.stderr
    environment = ["env", f"SANDGLASS_KERNEL={NEWER}"]
    usual = subprocess.run(
        [*environment, str(ROOT / "sandglass"), "run", str(EXAMPLE), "--out", str(tmp_path / "r")],
        capture_output=True,
        text=True,
        check=True,
    )
    found = [re.findall(r"^digest \w{64}$", each.stdout, re.M) for each in (done, usual)]
    assert found[0] == found[1] != []
    assert "not needed" in _there("doctor", kernel=NEWER).stdout
