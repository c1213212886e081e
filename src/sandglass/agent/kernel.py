"""System calls that Python 3.11 does not offer, and the commands of iproute2."""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import json
import os
import re
import resource
import socket
import struct
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

from sandglass.agent import programs
from sandglass.agent.failure import RunError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

NETNS_DIRECTORY = "/run/netns"
CLONE_NEWNET = 0x40000000  # <linux/sched.h>
MS_BIND = 4096  # <linux/mount.h>
CLOCK_MONOTONIC = 1
TIMER_ABSTIME = 1
CLOCK_TRIES = 3
PR_SET_TIMERSLACK = 29  # <linux/prctl.h>
LEAST_SLACK_NS = 1  # 0 stands for the default
SIOCETHTOOL = 0x8946  # <linux/sockios.h>
# ETHTOOL_S* commands of <linux/ethtool.h>. Segmentation and its inverse would
# make the qdiscs see packets larger than the link carries.
OFFLOADS_OFF = {"tso": 0x1F, "gso": 0x24, "gro": 0x2C}
SYS_PIDFD_GETFD = 438  # <asm-generic/unistd.h>
UNKNOWN_QDISC = r"\[Unknown qdisc, optlen=\d+\]"

_libc = ctypes.CDLL(None, use_errno=True)


class _Timespec(ctypes.Structure):
    _fields_ = [("tv_sec", ctypes.c_long), ("tv_nsec", ctypes.c_long)]


def _check(result: int, what: str) -> None:
    if result:
        number = ctypes.get_errno()
        raise RunError(f"{what}: {os.strerror(number)}")


def sleep_until(monotonic_ns: int) -> None:
    """Sleep until CLOCK_MONOTONIC reads `monotonic_ns`, to the nanosecond."""
    # Linux adds the slack of sleep_exactly(), but for a sleep that any other interrupt ends.
    until = _Timespec(*divmod(monotonic_ns - LEAST_SLACK_NS, 1_000_000_000))
    while _libc.clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, ctypes.byref(until), None):
        pass


def sleep_exactly() -> None:
    """From now on this process, and whatever it starts, wakes when it asked to.

    Linux lets a sleep end up to 50 us late, to wake the processor less often.
    """
    _libc.prctl(PR_SET_TIMERSLACK, LEAST_SLACK_NS, 0, 0, 0)


def monotonic_to_realtime_ns() -> int:
    """What to add to CLOCK_MONOTONIC to get CLOCK_REALTIME, in ns.

    A read costs the same virtual time each, so the mean of the reads before
    and after is the time of the read between them. That is so unless something
    else ran in between: of some tries the shortest counts.
    """

    def tried() -> tuple[int, int]:
        before = time.clock_gettime_ns(CLOCK_MONOTONIC)
        realtime = time.clock_gettime_ns(time.CLOCK_REALTIME)
        after = time.clock_gettime_ns(CLOCK_MONOTONIC)
        return after - before, realtime - (before + after) // 2

    return min(tried() for _ in range(CLOCK_TRIES))[1]


# Processes


def sockets_of(process: int) -> list[socket.socket]:
    """The sockets that another process has open, as sockets of our own.

    They are the same sockets, and stay open when that process closes them.
    """
    files = f"/proc/{process}/fd"
    copies = []
    there = os.pidfd_open(process)
    try:
        for number in os.listdir(files):
            try:
                if os.readlink(f"{files}/{number}").startswith("socket:"):
                    copy = _libc.syscall(SYS_PIDFD_GETFD, there, int(number), 0)
                    _check(copy < 0, f"cannot take a socket of process {process}")
                    copies.append(copy)
            except FileNotFoundError:  # that process has closed it meanwhile
                continue
    finally:
        os.close(there)
    return [socket.socket(fileno=copy) for copy in copies]


# Namespaces


def isolate(directories: Iterable[str]) -> None:
    """Enter a network namespace of the agent's own, and hide directories behind empty ones.

    For an agent that `unshare` has given mounts of its own: all of it goes when the agent ends.
    """
    _check(_libc.unshare(CLONE_NEWNET), "cannot create a network namespace")
    for directory in directories:
        os.makedirs(directory, exist_ok=True)
        _check(
            _libc.mount(b"none", directory.encode(), b"tmpfs", 0, b"mode=755"),
            f"cannot mount over {directory}",
        )
    run(["ip", "link", "set", "lo", "up"])
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def create_namespace(name: str) -> None:
    """Create a network namespace that `ip netns` knows as `name`."""
    path = f"{NETNS_DIRECTORY}/{name}"
    os.makedirs(NETNS_DIRECTORY, exist_ok=True)
    try:
        with open(path, "x"):
            pass
    except FileExistsError:
        raise RunError(
            f"there is a network namespace {name} already", f"Remove it: ip netns delete {name}"
        ) from None
    own = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
    try:
        _check(_libc.unshare(CLONE_NEWNET), f"cannot create network namespace {name}")
        _check(
            _libc.mount(b"/proc/thread-self/ns/net", path.encode(), b"none", MS_BIND, None),
            f"cannot mount network namespace {name}",
        )
    finally:
        _check(_libc.setns(own, CLONE_NEWNET), "cannot return to the own network namespace")
        os.close(own)


def delete_namespace(name: str) -> None:
    """Undo create_namespace."""
    path = f"{NETNS_DIRECTORY}/{name}"
    _libc.umount2(path.encode(), 0)
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)


@contextlib.contextmanager
def namespace(name: str | None) -> Iterator[None]:
    """The calling thread is in network namespace `name`; None is where the agent started."""
    if name is None:
        yield
        return
    own = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
    there = os.open(f"{NETNS_DIRECTORY}/{name}", os.O_RDONLY)
    try:
        _check(_libc.setns(there, CLONE_NEWNET), f"cannot enter network namespace {name}")
        yield
    finally:
        _check(_libc.setns(own, CLONE_NEWNET), "cannot return to the own network namespace")
        os.close(there)
        os.close(own)


# Commands


def run(command: list[str], where: str | None = None, text: str | None = None) -> str:
    """Run a command in a namespace and return its standard output.

    Raises:
        RunError: it failed; the message holds the command and what it said.
    """
    try:
        with namespace(where):
            done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        raise RunError(f"{command[0]} is not installed", programs.INSTALL) from None
    if done.returncode:
        said = (done.stderr or done.stdout).strip()
        place = f" on {where}" if where else ""
        raise RunError(f"{' '.join(command)}{place}: {said}")
    return done.stdout


def show_qdiscs(*arguments: str, where: str | None) -> list[dict[str, Any]]:
    """What `tc -j qdisc show` says, also of a qdisc that is newer than this tc.

    A tc that does not know a kind says so in plain words in the middle of its JSON.
    """
    text = run(["tc", "-j", *arguments], where)
    shown: list[dict[str, Any]] = json.loads(re.sub(UNKNOWN_QDISC, "", text) or "[]")
    return shown


def batch(tool: str, lines: list[str], where: str | None = None) -> None:
    """Give `lines` to `ip` or `tc` in one process; a failure names its line.

    Warnings go to the console.

    Raises:
        RunError: with the line that failed and the tool's own words.
    """
    if not lines:
        return
    with namespace(where):
        done = subprocess.run(
            [tool, "-batch", "-"],
            input="\n".join(lines) + "\n",
            capture_output=True,
            text=True,
            check=False,
        )
    if done.returncode == 0 and not done.stderr.strip().startswith("Error"):
        sys.stderr.write(done.stderr)
        return
    said = done.stderr.strip() or done.stdout.strip()
    failed = ""
    for word in said.rsplit("Command failed", 1)[-1].replace(":", " ").split():
        if word.isdigit() and 1 <= int(word) <= len(lines):
            failed = f": {tool} {lines[int(word) - 1]}"
            break
    said = "; ".join(line for line in said.splitlines() if not line.startswith("Command failed"))
    place = f" on {where}" if where else ""
    raise RunError(f"{tool} refused{place}{failed}: {said}")


# Settings


def sysctl_path(name: str) -> str:
    """Where the kernel keeps a sysctl, given with dots."""
    return "/proc/sys/" + name.replace(".", "/")


def write_sysctl(name: str, value: int | str, where: str | None, advice: str | None = None) -> None:
    """Set a sysctl, given with dots, in namespace `where`; `advice` is for when it is refused.

    Raises:
        RunError: it does not exist there, or refuses the value.
    """
    try:
        with namespace(where), open(sysctl_path(name), "w") as file:
            file.write(str(value))
    except FileNotFoundError:
        raise RunError(
            f"host {where} has no sysctl {name}",
            "It does not exist, or the kernel keeps it for all network namespaces together.",
        ) from None
    except OSError as error:
        raise RunError(
            f"sysctl {name} on host {where} refuses {value}: {error.strerror}", advice
        ) from None


def read_sysctl(name: str, where: str | None) -> str:
    """The value of a sysctl in namespace `where`, white space folded."""
    with namespace(where), open(sysctl_path(name)) as file:
        return " ".join(file.read().split())


def restart_random(seed: int) -> None:
    """Make all random numbers from now on depend on `seed` alone; only the lab's kernel can."""
    path = "/proc/sys/kernel/random/restart"
    if os.path.exists(path):
        with open(path, "w") as file:
            file.write(str(seed))


def offloads_off(device: str, where: str | None) -> None:
    """Switch off segmentation and receive offloads of a device."""
    with namespace(where), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        for name, command in OFFLOADS_OFF.items():
            value = ctypes.create_string_buffer(struct.pack("II", command, 0))
            request = struct.pack("16sP8x", device.encode(), ctypes.addressof(value))
            try:
                fcntl.ioctl(control, SIOCETHTOOL, request)
            except OSError as error:
                raise RunError(f"cannot switch off {name} on {device}: {error.strerror}") from None
