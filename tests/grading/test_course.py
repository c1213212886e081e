"""The grading of a submission: what it refuses to do, and how it watches."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from sandglass.cage import cage
from sandglass.errors import SandglassError
from sandglass.grading import course, sheet
from sandglass.install import builds


@pytest.fixture
def wanted(tmp_path: Path) -> sheet.Sheet:
    path = tmp_path / "GRADE.yaml"
    path.write_text(
        "title: t\nchecks: [{id: a, title: t, points: 1, kind: output, command: x.py, status: 0}]\n"
    )
    return sheet.read(path)


def test_a_machine_without_a_sandbox_is_refused(
    wanted: sheet.Sheet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cage, "layer", lambda: "landlock-files")
    monkeypatch.delenv("SANDGLASS_SANDBOX", raising=False)
    with pytest.raises(SandglassError) as caught:
        course.grade(wanted, tmp_path)
    assert caught.value.message.startswith("nothing on this machine keeps a submission from")
    assert "SANDGLASS_SANDBOX=landlock-files" in str(caught.value.hint)


def test_who_names_a_sandbox_has_chosen_it(
    tmp_path: Path, wanted: sheet.Sheet, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cage, "layer", lambda: "landlock-files")
    monkeypatch.setattr(builds, "lab", lambda: None)
    monkeypatch.setenv("SANDGLASS_SANDBOX", "landlock-files")
    (tmp_path / "broken.zip").write_bytes(b"no zip")
    report = course.grade(wanted, tmp_path / "broken.zip")
    assert report.points == 0
    assert "no ZIP" in report.graded[0].detail


def test_a_full_disk_is_the_graders_failure(
    tmp_path: Path, wanted: sheet.Sheet, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(course, "LEAST_FREE", 1 << 62)
    with pytest.raises(SandglassError, match="less than 1 GB left"):
        course.grade(wanted, tmp_path)


def test_a_modules_check_is_for_a_checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "GRADE.yaml"
    path.write_text(
        "title: t\nchecks: [{id: a, title: t, points: 1, kind: qdisc, module: kmods, "
        "scenario: 5.1.1, judged: {delay: better}}]\n"
    )
    found = sheet.read(path)
    monkeypatch.setattr(builds, "INSTALLED", True)
    monkeypatch.setattr("sandglass.install.extras.require", lambda extra: None)
    with pytest.raises(SandglassError, match="is for a checkout"):
        course.grade(found, tmp_path)


def test_the_time_of_all_below_a_process_counts_in_whatever_session() -> None:
    # A little more than is waited for: the kernel tells times in hundredths, rounded down.
    busy = "import time\nwhile time.process_time() < 1.1: pass\ntime.sleep(60)"
    inner = f"import subprocess, sys\nsubprocess.run([sys.executable, '-c', {busy!r}])"
    process = subprocess.Popen(
        [sys.executable, "-c", inner.replace("run(", "run(start_new_session=True, args=")]
    )
    until = time.monotonic() + 60
    while course._took_s(process.pid) < 1 and time.monotonic() < until:
        time.sleep(0.2)
    took_s = course._took_s(process.pid)
    (child,) = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    process.kill()
    process.wait()
    os.kill(int(child), signal.SIGKILL)
    assert 1 <= took_s < 3
