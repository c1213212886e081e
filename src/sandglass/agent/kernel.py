"""System calls that Python 3.11 does not offer, and what is asked of the kernel by files."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import resource
import socket
import subprocess
import time
from typing import TYPE_CHECKING

from sandglass.agent import programs
from sandglass.agent.failure import RunError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

NETNS_DIRECTORY = "/run/netns"
CLONE_NEWNET = 0x40000000  # <linux/sched.h>
MS_RDONLY, MS_REMOUNT, MS_BIND = 1, 32, 4096  # <linux/mount.h>
CLOCK_MONOTONIC = 1
TIMER_ABSTIME = TFD_TIMER_ABSTIME = 1  # <linux/time.h>, <linux/timerfd.h>
TFD_CLOEXEC = os.O_CLOEXEC
CLOCK_TRIES = 3
PR_SET_TIMERSLACK = 29  # <linux/prctl.h>
LEAST_SLACK_NS = 1  # 0 stands for the default
SYS_PIDFD_GETFD = 438  # <asm-generic/unistd.h>
SYS_FINIT_MODULE = 313  # <asm/unistd_64.h>

_libc = ctypes.CDLL(None, use_errno=True)


class _Timespec(ctypes.Structure):
    _fields_ = [("tv_sec", ctypes.c_long), ("tv_nsec", ctypes.c_long)]


class _Itimerspec(ctypes.Structure):
    _fields_ = [("it_interval", _Timespec), ("it_value", _Timespec)]


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


def timer_at(monotonic_ns: int) -> int:
    """A file descriptor that can be read from when CLOCK_MONOTONIC reads `monotonic_ns`."""
    timer: int = _libc.timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC)
    _check(timer < 0, "cannot make a timer")
    until = _Itimerspec(_Timespec(0, 0), _Timespec(*divmod(monotonic_ns, 1_000_000_000)))
    _check(
        _libc.timerfd_settime(timer, TFD_TIMER_ABSTIME, ctypes.byref(until), None), "cannot set it"
    )
    return timer


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


def mount(kind: str, place: str, options: str, source: str = "none") -> None:
    """Mount a file system at `place`; of hostfs the options are the number of a directory.

    Raises:
        RunError: it cannot be.
    """
    done = _libc.mount(source.encode(), place.encode(), kind.encode(), 0, os.fsencode(options))
    _check(done, f"cannot mount {kind} ({options}) on {place}")


def protect(place: str) -> None:
    """Let nobody write to what is mounted at `place`.

    Raises:
        RunError: it cannot be.
    """
    done = _libc.mount(None, os.fsencode(place), None, MS_REMOUNT | MS_RDONLY, None)
    _check(done, f"cannot protect {place}")


def cover(place: str, file: str) -> None:
    """Have a file stand in the place of another one.

    Raises:
        RunError: it cannot.
    """
    done = _libc.mount(os.fsencode(file), os.fsencode(place), None, MS_BIND, None)
    _check(done, f"cannot put {file} in the place of {place}")


# Modules


def insert_module(file: str) -> None:
    """Add a module to the kernel, unless it is there; those that it depends on have to be.

    Raises:
        RunError: the kernel refuses it, and says why on the console.
    """
    with open(file, "rb") as module:
        refused = _libc.syscall(SYS_FINIT_MODULE, module.fileno(), b"", 0)
    if refused and ctypes.get_errno() != errno.EEXIST:
        _check(refused, f"cannot add the module {os.path.basename(file)}")


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
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def create_namespace(name: str) -> None:
    """Create a network namespace that `ip netns` knows as `name`."""
    path = namespace_path(name)
    os.makedirs(NETNS_DIRECTORY, exist_ok=True)
    try:
        with open(path, "x"):
            pass
    except FileExistsError:
        raise RunError(
            f"there is a network namespace {name} already", f"Remove it: ip netns delete {name}"
        ) from None
    own = os.open(namespace_path(None), os.O_RDONLY)
    try:
        _check(_libc.unshare(CLONE_NEWNET), f"cannot create network namespace {name}")
        _check(
            _libc.mount(namespace_path(None).encode(), path.encode(), b"none", MS_BIND, None),
            f"cannot mount network namespace {name}",
        )
    finally:
        _check(_libc.setns(own, CLONE_NEWNET), "cannot return to the own network namespace")
        os.close(own)


def delete_namespace(name: str) -> None:
    """Undo create_namespace."""
    path = namespace_path(name)
    _libc.umount2(path.encode(), 0)
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)


def namespace_path(name: str | None) -> str:
    """The file of a network namespace; None is that of the calling thread."""
    return f"{NETNS_DIRECTORY}/{name}" if name else "/proc/thread-self/ns/net"


@contextlib.contextmanager
def namespace(name: str | None) -> Iterator[None]:
    """The calling thread is in network namespace `name`; None is where the agent started."""
    if name is None:
        yield
        return
    own = os.open(namespace_path(None), os.O_RDONLY)
    there = os.open(namespace_path(name), os.O_RDONLY)
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


# Settings


def sysctl_path(name: str) -> str:
    """Where the kernel keeps a sysctl, given with dots."""
    return "/proc/sys/" + name.replace(".", "/")


def write_sysctl(name: str, value: int | str, where: str | None) -> None:
    """Set one as write_sysctls() does."""
    write_sysctls({name: value}, where, {})


def write_sysctls(
    values: Mapping[str, int | str], where: str | None, advice: Mapping[str, str]
) -> None:
    """Set sysctls, given with dots, in namespace `where`.

    `advice` is, by their names, for when the kernel refuses them.

    Raises:
        RunError: one does not exist there, or the kernel refuses the value.
    """
    with namespace(where):
        for name, value in values.items():
            try:
                with open(sysctl_path(name), "w") as file:
                    file.write(str(value))
            except FileNotFoundError:
                raise RunError(
                    f"host {where} has no sysctl {name}",
                    "There is none, or the kernel keeps it for all network namespaces together.",
                ) from None
            except OSError as error:
                raise RunError(
                    f"sysctl {name} on host {where} refuses {value}: {error.strerror}",
                    advice.get(name),
                ) from None


def read_sysctl(name: str, where: str | None) -> str:
    """The value of a sysctl in namespace `where`, white space folded."""
    return read_sysctls([name], where)[name]


def read_sysctls(names: Iterable[str], where: str | None) -> dict[str, str]:
    """The values of sysctls in namespace `where`, white space folded."""
    values = {}
    with namespace(where):
        for name in names:
            with open(sysctl_path(name)) as file:
                values[name] = " ".join(file.read().split())
    return values


def dropped_on_arrival() -> int:
    """Packets, of all namespaces, that found no room where they wait for a processor."""
    with open("/proc/net/softnet_stat") as file:  # a line for each processor
        return sum(int(line.split()[1], 16) for line in file)


def restart_random(seed: int) -> None:
    """Make all random numbers from now on depend on `seed` alone; only the lab's kernel can."""
    path = "/proc/sys/kernel/random/restart"
    if os.path.exists(path):
        with open(path, "w") as file:
            file.write(str(seed))
