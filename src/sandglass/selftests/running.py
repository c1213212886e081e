"""Tests at work: each in a lab of its own, as many at once as there are processors."""

import hashlib
import json
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from sandglass.errors import SandglassError, UsageError
from sandglass.install import builds
from sandglass.lab import lab, reports
from sandglass.selftests import tap
from sandglass.selftests.guest import TIMED_OUT
from sandglass.selftests.targets import Test
from sandglass.terminal import harmless

GUEST = "src/sandglass/selftests/guest.py"
SCRATCH = "sandglass-tests-"
REMOVALS = 20
"""So often it is tried to remove the folder."""
SKIP = 4
"""The status of a test that is skipped (kselftest.h)."""
MOST_READ = 1 << 22
"""Bytes of what a test says."""
TAIL = 40
"""Lines of what a failed test says that are told."""


@dataclass(frozen=True)
class Setting:
    """What all tests run in."""

    tree: Path
    packetdrill: Path | None
    syscall_ns: int
    seed: int
    memory_mb: int


@dataclass(frozen=True)
class Result:
    """How a test ended."""

    test: Test
    verdict: tap.Verdict
    why: str
    """Of what did not pass."""
    cases: list[tap.Case]
    said: str
    virtual_s: float
    real_s: float
    digest: str
    """Over all that it said, its status and the virtual time that it took."""
    others: list[str] = field(default_factory=list)
    """The digests of its further runs."""

    @property
    def repeats(self) -> bool:
        """Whether all of its runs were the same to the byte."""
        return all(other == self.digest for other in self.others)


def run(tests: list[Test], setting: Setting, repeat: int = 1) -> Iterator[Result]:
    """Run tests, each so many times, and hand out how they ended, in their order."""
    with _scratch() as scratch, _pool() as pool:
        work = [
            [pool.submit(_run, test, setting, scratch) for _ in range(repeat)] for test in tests
        ]
        for each in work:
            yield _together(each)


@contextmanager
def _scratch() -> Iterator[Path]:
    """A folder that is gone afterwards, also where labs are still at work in it.

    Who is interrupted waits for no lab. One may make a file between a folder's listing and its
    removal; in a folder that is gone it can make none.
    """
    made = Path(tempfile.mkdtemp(prefix=SCRATCH))
    try:
        yield made
    finally:
        for _ in range(REMOVALS):
            shutil.rmtree(made, ignore_errors=True)
            if not made.exists():
                break
            time.sleep(0.05)


@contextmanager
def _pool() -> Iterator[ThreadPoolExecutor]:
    """Threads that wait for a lab each; who is interrupted waits for none."""
    pool = ThreadPoolExecutor(len(os.sched_getaffinity(0)))
    try:
        yield pool
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        raise
    pool.shutdown()


def _together(runs: list[Future[Result]]) -> Result:
    first, *further = (run.result() for run in runs)
    worst = next((each for each in (first, *further) if each.verdict == "fail"), first)
    others = [each.digest for each in (first, *further) if each is not worst]
    return replace(worst, others=others)


def _run(test: Test, setting: Setting, scratch: Path) -> Result:
    if test.lacks:
        return Result(test, "skip", test.lacks, [], "", 0, 0, "")
    with tempfile.TemporaryDirectory(dir=scratch) as name:
        directory = Path(name)
        wanted = {
            "command": test.command,
            "folder": test.target.folder,
            "timeout_s": test.timeout_s,
            "seed": setting.seed,
            "tree": lab.FURTHER,
        }
        (directory / "test.json").write_text(json.dumps(wanted))
        (directory / "bin").mkdir()
        if test.target.packetdrill and setting.packetdrill:
            shutil.copy2(setting.packetdrill / "packetdrill", directory / "bin")
        begun = time.monotonic()
        fault = ""
        try:
            lab.execute(
                GUEST,
                directory,
                memory_mb=setting.memory_mb,
                seed=setting.seed,
                clock=lab.clock(setting.syscall_ns),
                silent=True,
                patience_s=lab.WATCHDOG_S,
                further=setting.tree,
            )
        except UsageError:
            raise
        except SandglassError as error:
            fault = "\n".join(filter(None, (error.message, error.hint)))
        return _judged(test, directory, fault, time.monotonic() - begun)


def _judged(test: Test, directory: Path, fault: str, real_s: float) -> Result:
    """What there is to say of a test whose lab has ended, well or by a fault."""
    raw = _read(directory / "output")
    status, virtual_ns = _ended(directory / "result.json")
    if status is None and not fault:
        fault = _read(directory / "console.log").decode(errors="replace") or "the lab has ended"
    log = directory / "kernel.log"
    if not fault and log.is_file():
        try:
            reports.fail_on_report(log, builds.lab_kernel().symbols)
        except SandglassError as error:
            fault = "\n".join(filter(None, (error.message, error.hint)))
    said = harmless(raw.decode(errors="replace"))
    found = tap.cases(said)
    failed = [case.name for case in found if case.verdict == "fail"]
    verdict: tap.Verdict = "pass"
    why = ""
    if fault:
        verdict, why = "fail", fault
    elif status == SKIP or (not status and found and all(c.verdict == "skip" for c in found)):
        verdict, why = "skip", tap.why_skipped(said)
    elif status == TIMED_OUT:
        verdict, why = "fail", f"it has not ended after {test.timeout_s} s of virtual time"
    elif status or (failed and tap.is_ktap(said)):
        verdict = "fail"
        why = f"failed: {', '.join(failed)}" if failed else f"it ended with status {status}"
    digest = hashlib.sha256(raw + f"\0{status}\0{virtual_ns}\0{fault}".encode())
    return Result(
        test, verdict, why, found, said, virtual_ns / 1e9, real_s, digest.hexdigest()[:12]
    )


def _ended(told: Path) -> tuple[int | None, int]:
    """The status of a test and how long it took, in virtual nanoseconds; None: it is not told."""
    try:
        said = json.loads(_read(told))
        return int(said["status"]), int(said["virtual_ns"])
    except (KeyError, TypeError, ValueError):  # a test is root, and may write there
        return None, 0


def _read(path: Path) -> bytes:
    if not path.is_file():
        return b""
    with path.open("rb") as file:
        return file.read(MOST_READ)
