"""Makes qdiscs in the debug lab while one allocation fails, each in turn.

Usage, as the lab's one program: python3 starved.py DIRECTORY

starved.json in the directory holds a list of kinds. Each is the kernel's default in turn, so that a
device which goes up gets one: the kernel resets and destroys what it could not set up. failed.json
gets {kind: how many allocations there were, each of which failed once}.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import socket
import struct
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "src"))

from sandglass.agent import kernel

FAULTS = Path("/sys/kernel/debug/failslab")
NTH = Path("/proc/thread-self/fail-nth")
DEFAULT = Path("/proc/sys/net/core/default_qdisc")
DEVICE = "t"
SIOCSIFFLAGS, IFF_UP = 0x8914, 1  # linux/sockios.h, linux/if.h
MODPROBE = ("modprobe", "-C", "/dev/null", "-d", "/run/sandglass/lab")


def prepare(kinds: list[str]) -> None:
    kernel.run([*MODPROBE, "-a", *(f"sch_{kind}" for kind in kinds)])
    kernel.run(["mount", "-t", "debugfs", "none", "/sys/kernel/debug"])
    (FAULTS / "ignore-gfp-wait").write_text("N")  # those that may sleep, too
    (FAULTS / "verbose").write_text("0")
    (FAULTS / "probability").write_text("0")


def goes_up(control: socket.socket, nth: int) -> bool:
    """Set the device up while the nth allocation fails; whether there was one."""
    request = struct.pack("16sh14x", DEVICE.encode(), IFF_UP)
    with NTH.open("r+") as left:
        left.write(str(nth))
        left.flush()
        with contextlib.suppress(OSError):  # the device itself may lack memory, too
            fcntl.ioctl(control, SIOCSIFFLAGS, request)
        left.seek(0)
        failed = left.read().strip() == "0"
        left.seek(0)
        left.write("0")
    return failed


def failures(kind: str) -> int:
    """How many allocations a device of this kind's queue makes; each has failed once."""
    DEFAULT.write_text(kind)
    nth = 0
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        while True:
            kernel.run(f"ip tuntap add {DEVICE} mode tap".split())
            failed = goes_up(control, nth + 1)
            kernel.run(f"ip link del {DEVICE}".split())
            if not failed:
                return nth
            nth += 1


def main(directory: Path) -> None:
    kinds = json.loads((directory / "starved.json").read_text())
    prepare(kinds)
    found = {kind: failures(kind) for kind in kinds}
    DEFAULT.write_text("pfifo_fast")
    (directory / "failed.json").write_text(json.dumps(found))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
