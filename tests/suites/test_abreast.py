"""Several scenarios at once."""

import os
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from sandglass.install import builds
from tests.lab.conftest import command


@pytest.mark.thorough
@pytest.mark.lab
@pytest.mark.parametrize("tell", [os.killpg, os.kill])
def test_an_interrupt_ends_all_of_them(
    tmp_path: Path, tell: Callable[[int, signal.Signals], None]
) -> None:
    """Those that run, and those that wait, whether all of them are told or we alone; and there is
    no report of a part."""
    out = tmp_path / "out"
    words = ["characterise", "qdisc", "pie", "--against", "codel", "--only", "5.1.1,5.2,4.4,9.1"]
    with subprocess.Popen(
        command(builds.ROOT, *words, "--out", out),
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        env=os.environ | {"PYTHONUNBUFFERED": "1"},
        text=True,
        start_new_session=True,
    ) as process:
        assert process.stderr
        said = next(line for line in process.stderr if "runs" in line)
        tell(process.pid, signal.SIGINT)
        rest = process.stderr.read()
    assert process.returncode == 130, said + rest
    assert "interrupted" in rest
    assert "Traceback" not in rest
    assert not (out / "index.html").exists()
    assert len(list(out.iterdir())) <= 2


@pytest.mark.lab
def test_one_that_fails_keeps_no_other_from_running(tmp_path: Path) -> None:
    out = tmp_path / "out"
    for name in ("friendly", "aggressive"):
        (out / name).mkdir(parents=True)
        (out / name / "mine").touch()
    words = ["characterise", "qdisc", "pie", "--against", "codel", "--only", "5.1.1,5.2"]
    done = subprocess.run(
        command(builds.ROOT, *words, "--out", out), capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert f"{out / 'friendly'} is there already" in done.stderr
    assert f"{out / 'aggressive'} is there already" in done.stderr
    assert "did not end" in (out / "index.html").read_text()
