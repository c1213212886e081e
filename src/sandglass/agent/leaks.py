"""Runs a program in the debug lab, and then has the kernel look for memory that it has lost.

Usage, as the lab's one program: python3 leaks.py PROGRAM [ARGUMENT]...

When the program has ended, all that it made is taken down: processes, network namespaces with
their qdiscs and sockets, modules. What is still allocated then, and nothing points to, goes to the
kernel's log, and so to the console.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time

KMEMLEAK = "/sys/kernel/debug/kmemleak"
FAREWELL_S = 300  # until the last connection that has lost its processes has closed or given up
REMOVAL_S = 10  # of a namespace, after its name
# An object younger than 5 s may be on its way to where it will be found (mm/kmemleak.c).
YOUNG_S = 6
SCANS = 2  # the first takes down what each object holds, to tell those in use by their changes
REPORT_LEVEL = "<3>"  # KERN_ERR


def take_down() -> None:
    """End all processes, remove all network namespaces, then all modules."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(-1, signal.SIGKILL)  # not this one, and not init
    time.sleep(FAREWELL_S)
    subprocess.run(["ip", "-all", "netns", "delete"], check=True, stdout=subprocess.DEVNULL)
    time.sleep(REMOVAL_S)
    with open("/proc/modules") as lines:
        modules = [line.split()[0] for line in lines]
    for module in modules:
        if subprocess.run(["rmmod", module], check=False).returncode:
            report(f"BUG: the module {module} is in use when nothing is left that could use it")


def look_for_leaks() -> None:
    """Report what kmemleak finds of memory that nothing points to."""
    subprocess.run(["mount", "-t", "debugfs", "none", "/sys/kernel/debug"], check=True)
    time.sleep(YOUNG_S)
    for _ in range(SCANS):
        with open(KMEMLEAK, "w") as control:
            control.write("scan")
    with open(KMEMLEAK) as leaks:
        found = leaks.read()
    if found:
        report(f"BUG: memory leak\n{found}")


def report(text: str) -> None:
    """Put a text into the kernel's log."""
    for line in text.splitlines():
        with open("/dev/kmsg", "w") as log:  # one record for each write
            log.write(f"{REPORT_LEVEL}{line}")


def main(program: list[str]) -> int:
    status = subprocess.run(program, check=False).returncode
    take_down()
    look_for_leaks()
    return status if status >= 0 else 128 - status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
