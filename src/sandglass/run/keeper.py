"""Runs a command that changes this machine's kernel, and puts back what it changed.

Usage: keeper.py COMMAND...

The host backend's agent lives in namespaces of its own, which end with it: processes, network,
mounts. Two things do not: the modules that were loaded for it, and which congestion controls
everybody may use. They are noted in JOURNAL before; this process waits for the end of the command,
or of whoever holds the other end of its standard input, and then puts them back. What it cannot, or
could not because it was killed too, stays in JOURNAL, for the next run to refuse to start on.

Only the standard library: the system's Python runs this file.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import TypedDict

JOURNAL = Path("/run/sandglass-host.json")
ALLOWED = Path("/proc/sys/net/ipv4/tcp_allowed_congestion_control")
MOUNT_POINTS = ("/run/netns", "/run/openvswitch", "/run/sandglass-flows")
"""Directories of the machine that the agent hides behind its own."""
PUT_BACK_WITHIN_S = 150.0
"""A network namespace outlives its last process until no connection of it waits for an answer.

That is a round trip or two, but where the agent itself was killed: then as long as TCP tries.
"""
PDEATHSIG = 1  # PR_SET_PDEATHSIG of <linux/prctl.h>


class State(TypedDict):
    """What a run may change of a machine."""

    modules: list[str]
    allowed: str
    """Congestion controls that need no privilege."""
    directories: list[str]
    """Mount points that were there."""


def state() -> State:
    """The machine as it is."""
    return {
        "modules": sorted(_modules()),
        "allowed": ALLOWED.read_text().strip(),
        "directories": [path for path in MOUNT_POINTS if Path(path).is_dir()],
    }


def note(before: State) -> None:
    """Write JOURNAL."""
    JOURNAL.write_text(json.dumps(before) + "\n")


def put_back(before: State) -> None:
    """Make the machine what it was; JOURNAL goes when nothing is left to do."""
    if ALLOWED.read_text().strip() != before["allowed"]:
        ALLOWED.write_text(before["allowed"])
    deadline = time.monotonic() + PUT_BACK_WITHIN_S
    while (added := _modules() - set(before["modules"])) and time.monotonic() < deadline:
        if not _unload(added):
            time.sleep(0.1)
    for path in MOUNT_POINTS:
        if path not in before["directories"]:
            with contextlib.suppress(OSError):  # not there, or somebody's by now
                Path(path).rmdir()
    if not added:
        JOURNAL.unlink(missing_ok=True)


def left() -> list[str]:
    """Commands that do what a killed run could not; empty when there was none."""
    try:
        before: State = json.loads(JOURNAL.read_text())
    except FileNotFoundError:
        return []
    except ValueError:  # killed while it wrote: nothing had been changed yet
        return [f"rm {JOURNAL}"]
    commands = []
    if added := sorted(_modules() - set(before["modules"])):
        commands.append(f"modprobe -r {' '.join(added)}")
    if ALLOWED.read_text().strip() != before["allowed"]:
        commands.append(f"sysctl net.ipv4.tcp_allowed_congestion_control='{before['allowed']}'")
    new = (path for path in MOUNT_POINTS if path not in before["directories"])
    commands += [f"rmdir {path}" for path in new if Path(path).is_dir()]
    return [*commands, f"rm {JOURNAL}"]


def _modules() -> set[str]:
    return {line.split()[0] for line in Path("/proc/modules").read_text().splitlines()}


def _unload(names: set[str]) -> bool:
    """Unload those that nothing uses; whether there were any."""
    done = [
        subprocess.run(["rmmod", name], capture_output=True, check=False).returncode == 0
        for name in sorted(names)
    ]
    return any(done)


def main(command: list[str]) -> int:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    before: State = json.loads(JOURNAL.read_text())
    libc = ctypes.CDLL(None)
    process = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        preexec_fn=lambda: libc.prctl(PDEATHSIG, signal.SIGKILL),  # noqa: PLW1509 no threads yet
    )

    def follow() -> None:
        sys.stdin.buffer.read()  # ends with whoever started us
        process.kill()

    threading.Thread(target=follow, daemon=True).start()
    status = process.wait()
    put_back(before)
    return status if status >= 0 else 128 - status


if __name__ == "__main__":
    ended = main(sys.argv[1:])
    os._exit(ended)  # the thread that follows still reads
