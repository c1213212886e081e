"""Open vSwitch inside the lab: its database, its daemon, the kernel's datapath."""

from __future__ import annotations

import os
import signal
import time

from sandglass.agent import kernel, programs
from sandglass.agent.failure import RunError

PROGRAMS = {"ovs-vswitchd": "--version"}
RUN = "/run/openvswitch"
DATABASE = RUN + "/conf.db"
SCHEMA = "/usr/share/openvswitch/vswitch.ovsschema"
SOCKET = RUN + "/db.sock"
# ovs-vswitchd counts processor cores once in 10 s, the first time when the
# clock has passed 10 s; before, it believes in none and starts no thread that
# forwards (lib/ovs-thread.c, count_cpu_cores). The lab's clock starts at zero; in
# real time it jumps beyond (lab.REAL_TIME).
SETTLED_NS = 10_500_000_000

MAX_IDLE = "other_config:max-idle=86400000"  # ms

_started: list[str] = []


def start() -> None:
    """Start ovsdb-server and ovs-vswitchd.

    Raises:
        RunError: Open vSwitch is not installed or does not start.
    """
    if not os.path.exists(SCHEMA):
        raise RunError("openvswitch-switch is not installed", programs.INSTALL)
    os.makedirs(RUN, exist_ok=True)
    os.makedirs("/var/log/openvswitch", exist_ok=True)
    wait = SETTLED_NS - time.monotonic_ns()
    if wait > 0:
        kernel.sleep_until(SETTLED_NS)
    kernel.run(["ovsdb-tool", "create", DATABASE, SCHEMA])
    kernel.run(
        [
            "ovsdb-server",
            DATABASE,
            f"--remote=punix:{SOCKET}",
            "--pidfile",
            "--detach",
            "--no-chdir",
        ]
    )
    _started.append("ovsdb-server")
    # What the echoes before an experiment taught the datapath holds during it,
    # so that no packet waits for ovs-vswitchd.
    kernel.run(["ovs-vsctl", "--no-wait", "init", "--", "set", "Open_vSwitch", ".", MAX_IDLE])
    kernel.run(["ovs-vswitchd", f"unix:{SOCKET}", "--pidfile", "--detach", "--no-chdir"])
    _started.append("ovs-vswitchd")


def in_shell(command: str, shell: bool = True) -> None:
    """Run a command of Mininet's, which it would not see fail.

    Raises:
        RunError: it failed; with what it said.
    """
    kernel.run(["sh", "-c", command])


def pause() -> None:
    """Let what start() started sleep: the datapath forwards by what it was taught.

    The daemons wake up by themselves now and then, and each of their clock reads
    takes virtual time: packets would depend on when they were started.
    """
    _signal(signal.SIGSTOP)


def resume() -> None:
    """Undo pause()."""
    _signal(signal.SIGCONT)


def _signal(number: int) -> None:
    for daemon in _started:
        with open(f"{RUN}/{daemon}.pid") as file:
            os.kill(int(file.read()), number)
