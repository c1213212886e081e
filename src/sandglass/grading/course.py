"""The grading of a submission: check after check, each in a process that is ended at its limit.

Nothing that a student's program says or writes is read as an outcome. An outcome comes by a file
that only the check's process writes; where there is none, and no limit was hit, grading has failed.
"""

import contextlib
import json
import os
import selectors
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from sandglass.cage import cage
from sandglass.errors import SandglassError, UsageError
from sandglass.experiment import units
from sandglass.experiment.foreign import SAFE_PATH
from sandglass.grading import submission
from sandglass.grading.outcome import Graded, Outcome, Report, failed
from sandglass.grading.sheet import SECOND_NS, AnyCheck, Sheet
from sandglass.grading.submission import SubmissionError
from sandglass.install import builds, extras

MOST_SAID = 32_000_000
"""Bytes that a lab may say; one of a check says next to nothing."""
MOST_LEFT = 2_000_000_000
"""Bytes that a check's files may take on the disk."""
LEAST_FREE = 1_000_000_000
STILL_S = 900
"""How long, in real time, the lab's time may stand still: long after the processor's time is up."""
LOOK_S = 0.25
GRACE_S = 5.0
PIECE = 1 << 16
Progress = Callable[[AnyCheck], None]


def grade(sheet: Sheet, path: Path, progress: Progress = lambda check: None) -> Report:
    """Grade a submission. `progress` is told of each check before it is done.

    Raises UsageError where there is no submission, SandglassError where grading itself fails.
    """
    if not path.exists():
        raise UsageError(f"{path}: no such file or directory")
    if any(check.kind in ("study", "metric", "qdisc") for check in sheet.checks):
        extras.require("studies")
    if any(getattr(check, "module", None) for check in sheet.checks):
        extras.checkout_only("to compile a student's kernel module")
    _check_machine()
    with tempfile.TemporaryDirectory(
        prefix="sandglass-grade-", ignore_cleanup_errors=True
    ) as scratch:
        home = Path(scratch).resolve()
        (home / "submission").mkdir()
        graded = []
        try:
            there = submission.take(path, home / "submission", sheet)
        except SubmissionError as error:
            graded = [Graded(check, failed(error.message)) for check in sheet.checks]
            return Report(sheet, path.name, graded)
        for check in sheet.checks:
            progress(check)
            graded.append(Graded(check, _outcome(sheet, check, there, home)))
        return Report(sheet, path.name, graded)


def _check_machine() -> None:
    """Raise SandglassError where submissions could reach what they should not, or there is no lab.

    Who names a sandbox in the environment has chosen it.
    """
    if not cage.holds(cage.layer()) and not os.environ.get(cage.CHOICE):
        raise SandglassError(
            "nothing on this machine keeps a submission from the grader's files and processes",
            "docs/security.md says what it wants. In a container that is thrown away afterwards, "
            f"and has no secrets, set {cage.CHOICE}={cage.layer()}.",
        )
    if shutil.disk_usage(tempfile.gettempdir()).free < LEAST_FREE:
        raise SandglassError(f"{tempfile.gettempdir()} has less than 1 GB left")
    builds.lab()


def _outcome(sheet: Sheet, check: AnyCheck, there: Path, home: Path) -> Outcome:
    """Do a check in a process of its own."""
    place = home / check.id
    own = place / "submission"
    result = home / f"{check.id}.json"
    place.mkdir()
    shutil.copytree(there, own)
    limit_s = check.time_limit.processor / SECOND_NS
    told = {
        "sheet": str(sheet.path),
        "check": check.id,
        "submission": str(own),
        "home": str(place),
        "result": str(result),
        "parent": os.getpid(),
    }
    environment = {
        **{key: value for key, value in os.environ.items() if key != "SANDGLASS_KMODS"},
        "PYTHONPATH": str(builds.ROOT / "src"),
        "SANDGLASS_WATCHDOG": str(STILL_S),
    }
    with tempfile.TemporaryFile() as given:
        given.write(json.dumps(told).encode())
        given.seek(0)
        process = subprocess.Popen(
            [sys.executable, *SAFE_PATH, "-m", "sandglass.grading.worker"],
            stdin=given,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=environment,
            start_new_session=True,
        )
    try:
        limit, said = _watched(process, place, limit_s)
    finally:
        _end(process)
    if result.is_file():
        outcome = Outcome(**json.loads(result.read_text()))
        plain = [_plain(line, own, place) for line in outcome.said if line]
        return Outcome(outcome.right, outcome.of, plain)
    if limit:
        return failed(limit)
    _check_machine()
    words = said.decode(errors="replace").strip().splitlines()[-5:]
    raise SandglassError(f"check {check.id} could not be done", "\n".join(words) or None)


def _watched(
    process: "subprocess.Popen[bytes]", place: Path, limit_s: float
) -> tuple[str | None, bytes]:
    """Wait for a check's end; returns the limit that it has hit, and the end of what was said."""
    assert process.stdout
    total, last, looked = 0, b"", time.monotonic()
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ)
        while True:
            if selector.select(LOOK_S):
                piece = os.read(process.stdout.fileno(), PIECE)
                if not piece:
                    process.wait()
                    return None, last
                total, last = total + len(piece), (last + piece)[-PIECE:]
            if total > MOST_SAID:
                return "it said more than can be for its task, and was ended", last
            if (now := time.monotonic()) - looked > LOOK_S:
                looked = now
                if _took_s(process.pid) > limit_s:
                    shown = units.format_time(round(limit_s * SECOND_NS))
                    said = f"it took more than {shown} of a processor, and was ended"
                    return f"{said}: does it loop for ever?", last
                if _size(place) > MOST_LEFT:
                    return "it filled the disk, and was ended", last


def _took_s(process: int) -> float:
    """What a process and those below it have had of a processor, and those that they buried."""
    below: dict[int, list[int]] = {}
    ticks: dict[int, int] = {}
    for place in Path("/proc").glob("[1-9]*"):
        with contextlib.suppress(OSError):  # it has ended
            # proc(5): behind the name, which may have any characters, state, parent, …
            words = (place / "stat").read_text().rpartition(")")[2].split()
            below.setdefault(int(words[1]), []).append(int(place.name))
            ticks[int(place.name)] = sum(map(int, words[11:15]))
    total, waiting = 0, [process]
    while waiting:
        here = waiting.pop()
        total += ticks.get(here, 0)
        waiting += below.get(here, [])
    return total / os.sysconf("SC_CLK_TCK")


def _size(folder: Path) -> int:
    """Bytes below a folder, links not followed."""
    found = 0
    for base, _, names in os.walk(folder, onerror=None):
        for name in names:
            with contextlib.suppress(OSError):
                found += (Path(base) / name).lstat().st_blocks * 512
    return found


def _end(process: "subprocess.Popen[bytes]") -> None:
    """End a check's process and its lab, which dies with it."""
    for number, wait_s in ((signal.SIGTERM, GRACE_S), (signal.SIGKILL, None)):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(wait_s)
    if process.stdout:
        process.stdout.close()


def _plain(line: str, own: Path, place: Path) -> str:
    """A line without the names of places of this machine."""
    for path in (own, place, builds.directory(), builds.ROOT):
        line = line.replace(f"{path}/", "")
    return line
