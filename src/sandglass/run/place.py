"""The directory of a run: built beside its place, and put there when it is whole.

Whatever is interrupted, a directory with a run.json is a whole run. What somebody else has put
into it stays there.
"""

import contextlib
import ctypes
import errno
import fcntl
import glob
import json
import os
import secrets
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sandglass.cage import system_calls as system
from sandglass.errors import SandglassError, UsageError

PARTIAL = "partial"
LOCK = ".lock"
FAILED = ".failed"
TELLING = ("console.log", "plan.json", "experiment.yaml", "topology.py")
"""What is kept of a run that failed, with the workloads that lie beside them."""
AT_FDCWD, RENAME_EXCHANGE = -100, 2  # <linux/fcntl.h>, <linux/fs.h>


def check(out: Path, title: str, *, force: bool) -> None:
    """Raise UsageError if a run must not go to `out`, where something is already.

    That is what is no run, and without `force` one whose experiment has another title.
    """
    if not out.exists():
        return
    if not (out / "run.json").is_file():
        if not out.is_dir() or any(out.iterdir()):
            raise UsageError(
                f"{out} is there already and is no run", "Choose another directory with --out."
            )
        return
    there = _content(out).get("title")
    if not force and there != title:
        raise UsageError(
            f"{out} has a run of another experiment: {there}",
            "Choose another directory with --out, or replace it with --force.",
        )


def _content(out: Path) -> dict[str, Any]:
    """run.json; empty where it is damaged."""
    try:
        found = json.loads((out / "run.json").read_text())
    except (ValueError, OSError):
        return {}
    return found if isinstance(found, dict) else {}


@contextlib.contextmanager
def building(out: Path) -> Iterator[Path]:
    """A new directory beside `out` to build up a run in; it goes whatever happens.

    A file beside it is locked all the while, by which other processes, of whatever container or
    node, know that somebody is at work there.

    Raises UsageError when somebody is, and SandglassError as the block does, after what tells of
    the failure was put aside.
    """
    out.parent.mkdir(parents=True, exist_ok=True)
    with _alone(out):
        for left in out.parent.glob(f".{glob.escape(out.name)}.{PARTIAL}-*"):  # by a killed run
            shutil.rmtree(left, ignore_errors=True)
        shutil.rmtree(str(out) + FAILED, ignore_errors=True)
        partial = out.parent / f".{out.name}.{PARTIAL}-{secrets.token_hex(4)}"
        try:
            partial.mkdir()
            yield partial
        except SandglassError as error:
            raise _kept(error, partial, out) from None
        finally:
            shutil.rmtree(partial, ignore_errors=True)


@contextlib.contextmanager
def _alone(out: Path) -> Iterator[None]:
    lock = out.parent / f".{out.name}{LOCK}"
    while True:
        descriptor = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o666)
        try:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise UsageError(
                    f"another run is being written to {out}",
                    "Wait for its end, or choose another directory with --out.",
                ) from None
            if not _is_file(lock, descriptor):  # whoever had it before has removed it meanwhile
                continue
            try:
                yield
            finally:
                lock.unlink(missing_ok=True)
            return
        finally:
            os.close(descriptor)


def _is_file(path: Path, descriptor: int) -> bool:
    try:
        return os.path.samestat(path.lstat(), os.fstat(descriptor))
    except FileNotFoundError:
        return False


def files(directory: Path) -> list[str]:
    """The names of a run's own files, as its run.json keeps them."""
    return sorted({path.name for path in directory.iterdir()} | {"run.json"})


def put(partial: Path, out: Path) -> None:
    """Put a run in its place at once; one that was there goes, but for what is not of it."""
    try:
        partial.rename(out)
    except OSError as error:
        if error.errno not in {errno.ENOTEMPTY, errno.EEXIST}:
            raise
        own = set(_content(out).get("files", files(out)))
        for path in [path for path in out.iterdir() if path.name not in own]:
            if not (partial / path.name).exists():
                path.rename(partial / path.name)
        _exchange(partial, out)


def _exchange(one: Path, two: Path) -> None:
    """Give two directories each other's names, at once where the file system can do that."""
    try:
        system.call(
            system.SYS_RENAMEAT2, AT_FDCWD, os.fsencode(one), AT_FDCWD, os.fsencode(two),
            ctypes.c_uint(RENAME_EXCHANGE),
        )  # fmt: skip
    except OSError as error:
        if error.errno not in {errno.EINVAL, errno.ENOSYS}:
            raise
        aside = one.with_name(one.name + "-replaced")
        two.rename(aside)
        one.rename(two)
        aside.rename(one)


def _kept(error: SandglassError, partial: Path, out: Path) -> SandglassError:
    """Move what tells of a failure out of the way; returns the error with the place it is in."""
    failed = Path(str(out) + FAILED)
    failed.mkdir()
    own = [path.name for kind in ("workload-*.py", "command-*") for path in partial.glob(kind)]
    for name in (*TELLING, *own):
        if (partial / name).exists():
            (partial / name).rename(failed / name)
    hints = [error.hint.replace(str(partial), str(failed))] if error.hint else []
    if (failed / "console.log").exists():
        hints.append(f"Its console: {failed}/console.log")
    message = error.message.replace(str(partial), str(failed))
    return type(error)(message, "\n".join(hints) or None)
