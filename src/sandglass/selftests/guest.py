"""Runs one of Linux's selftests in the lab. Usage: python3 guest.py RUN_DIRECTORY

test.json in the directory says which. The test finds a machine that has booted, and on which
nothing else is at work; the tree of the tests, /etc, /var and its home can be written to, in
memory. What it says goes to the file `output`, how it ended to result.json, the kernel's messages
to kernel.log.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import select
import signal
import sys
import time

CODE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
sys.path[0:1] = [os.path.join(CODE, "src"), CODE]

from sandglass.agent import interfaces, kernel, script  # noqa: E402
from sandglass.agent.failure import RunError  # noqa: E402
from sandglass.agent.netlink import Rtnetlink  # noqa: E402

TREE, BUILT = "/run/sandglass/selftests", "/run/sandglass/built"
DEBUGFS = "/sys/kernel/debug"
BEGIN_NS = 30_000_000_000
"""When a test begins, from boot: what was before, such as how long our code took to load, differs
from one version of it to the next, and timers of the kernel's would show it."""
TIMED_OUT = 124  # of timeout(1), which the kernel's own runner calls
BEAT_S = 0.25
"""Of virtual time. A test that starts thousands of programs takes minutes for so little of it."""
RECORD = 1 << 13  # more than a record of /dev/kmsg has


def prepare(directory: str, tree: str) -> dict[str, str]:
    """Lay out what a test finds; returns its environment."""
    with Rtnetlink(None) as link:
        interfaces.bring_up(link, "lo")
    for place in (BUILT, TREE):
        os.makedirs(place)
    kernel.mount("hostfs", BUILT, tree)
    script.overlay(BUILT, TREE)
    kernel.mount("tmpfs", script.HOME, "mode=700")
    script.overlay("/etc", "/etc")
    script.overlay(script.FACTORY, "/var")
    os.makedirs("/run/lock")
    with contextlib.suppress(RunError):  # of which the kernel may have none
        kernel.mount("debugfs", DEBUGFS, "mode=700")
    return {
        **os.environ,
        "PATH": f"{directory}/bin:{os.environ['PATH']}",
        "HOME": script.HOME,
    }


def run(command: list[str], environment: dict[str, str], output: str, timeout_s: int) -> int:
    """Run a test to its end, or to the end of its time; returns its status, as a shell has it."""
    child = os.fork()
    if child == 0:
        os.setsid()
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        said = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        os.dup2(said, 1)
        os.dup2(said, 2)
        script.become(command, environment)
    ended, begun = os.pidfd_open(child), time.monotonic()
    beat = os.path.join(os.path.dirname(output), "beat")
    while not select.select([ended], [], [], BEAT_S)[0]:
        with open(beat, "w") as file:  # time goes on
            file.write(f"{time.monotonic()}\n")
        if time.monotonic() - begun > timeout_s:
            os.killpg(child, signal.SIGKILL)
            os.waitpid(child, 0)
            return TIMED_OUT
    _, status = os.waitpid(child, 0)
    return script.as_a_shell(status)


def messages() -> list[str]:
    """What the kernel has said, as its console shows it."""
    found: list[str] = []
    log = os.open("/dev/kmsg", os.O_RDONLY | os.O_NONBLOCK)
    while True:
        try:
            record = os.read(log, RECORD).decode(errors="replace")
        except BlockingIOError:
            return found
        except BrokenPipeError:  # older ones have gone
            continue
        head, _, text = record.partition(";")
        stamp = int(head.split(",")[2])
        for line in text.splitlines():
            if not line.startswith(" "):  # its keys and values
                plain = re.sub(r"\\x([0-9a-f]{2})", lambda code: chr(int(code[1], 16)), line)
                found.append(f"[{stamp / 1e6:12.6f}] {plain}")


def main(directory: str) -> int:
    kernel.sleep_exactly()
    kernel.write_sysctl("kernel.printk", script.MESSAGES_SHOWN, None)
    with open(f"{directory}/test.json") as file:
        wanted = json.load(file)
    try:
        kernel.restart_random(wanted["seed"])
        environment = prepare(directory, wanted["tree"])
        os.chdir(os.path.join(TREE, wanted["folder"]))
        kernel.sleep_until(BEGIN_NS)
        kernel.restart_random(wanted["seed"])
        begun = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
        status = run(
            wanted["command"], environment, f"{directory}/output", int(wanted["timeout_s"])
        )
        took = time.clock_gettime_ns(time.CLOCK_MONOTONIC) - begun
    except (RunError, OSError) as error:
        print(f"sandglass: {error}", file=sys.stderr)
        return 1
    with open(f"{directory}/kernel.log", "w") as file:
        file.writelines(f"{line}\n" for line in messages())
    with open(f"{directory}/result.json", "w") as file:
        json.dump({"status": status, "virtual_ns": took}, file)
    kernel.write_sysctl("kernel.printk", script.MESSAGES_HIDDEN, None)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
