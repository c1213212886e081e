"""Namespaces: a process that sees some files of this machine, at their places, and no other ones.

For where Linux has no Landlock, or not enough of it. The process has a number, a network and a
root of its own: nothing outside has a name there.
"""

import contextlib
import os
import signal
import stat
from collections.abc import Iterable
from pathlib import Path
from typing import NoReturn

from sandglass.cage import system_calls as system

PROC, NULL = Path("/proc"), Path("/dev/null")
SIGNALS = signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}
STAGE = "/tmp"  # covered only while the root is laid out, and in no other process
LOCKED = (
    (os.ST_NOSUID, system.MS_NOSUID),
    (os.ST_NODEV, system.MS_NODEV),
    (os.ST_NOEXEC, 8),
    (os.ST_NOATIME, 1024),
    (os.ST_NODIRATIME, 2048),
    (os.ST_RELATIME, 1 << 21),
)
"""Flags of a mount that whoever has not made it may not take away; as read, and as set."""


def available() -> bool:
    """Whether this process may have namespaces of its own: tries it."""
    child = os.fork()
    if child == 0:
        status = 1
        with contextlib.suppress(OSError):
            enter([], [])
            status = 0
        os._exit(status)
    return os.waitpid(child, 0)[1] == 0


def enter(read: Iterable[Path], write: Iterable[Path]) -> None:
    """Go on as a process that has these files and directories, at their own places.

    Two processes stay behind that hand on signals and the end: what follows runs in a third.
    Links on the way to what is given are there too.
    """
    flags = system.CLONE_NEWNS | system.CLONE_NEWPID | system.CLONE_NEWIPC | system.CLONE_NEWNET
    user, group = os.getuid(), os.getgid()
    try:
        system.unshare(flags)
    except PermissionError:
        system.unshare(flags | system.CLONE_NEWUSER)
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/uid_map").write_text(f"{user} {user} 1")
        Path("/proc/self/gid_map").write_text(f"{group} {group} 1")
    system.mount("none", "/", None, system.MS_REC | system.MS_PRIVATE)
    given = [(path, False) for path in write] + [(path, True) for path in read]
    _change_root([(path, read_only) for path, read_only in given if path.exists()])
    before = signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)  # so that no child's end is missed
    for _ in range(2):  # the first has a number outside, the second is the others' init
        child = os.fork()
        if child:
            _stand_in_for(child)
        system.prctl(system.PR_SET_PDEATHSIG, signal.SIGKILL)
    signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _change_root(given: list[tuple[Path, bool]]) -> None:
    places = [os.open(path, os.O_PATH | os.O_CLOEXEC) for path, _ in given]
    proc, null = (os.open(path, os.O_PATH | os.O_CLOEXEC) for path in (PROC, NULL))
    links = {link: link.readlink() for path, _ in given for link in _links_on_the_way(path)}
    system.mount("none", STAGE, "tmpfs", system.MS_NOSUID | system.MS_NODEV, "mode=755")
    for link, target in links.items():
        staged = Path(STAGE + str(link))
        staged.parent.mkdir(parents=True, exist_ok=True)
        staged.symlink_to(target)
    bound: set[Path] = set()
    for (_, read_only), place in zip(given, places, strict=True):
        real = Path(os.readlink(f"/proc/self/fd/{place}"))
        if not any(real.is_relative_to(other) for other in bound):
            _bind(place, real, read_only)
            bound.add(real)
    _bind(null, NULL, read_only=False)
    _bind(proc, PROC, read_only=False)
    os.chdir(STAGE)
    system.call(system.SYS_PIVOT_ROOT, b".", b".")
    system.unmount(".", system.MNT_DETACH)
    os.chdir("/")
    system.mount("none", "/", None, system.MS_REMOUNT | system.MS_BIND | system.MS_RDONLY
                 | system.MS_NOSUID | system.MS_NODEV)  # fmt: skip
    for place in (*places, proc, null):
        os.close(place)


def _links_on_the_way(path: Path) -> list[Path]:
    """The symbolic links that an absolute path leads through, each with those on its own way."""
    found: list[Path] = []
    way = Path("/")
    parts = list(path.parts[1:])
    while parts:
        step = way / parts.pop(0)
        if step.is_symlink():
            found.append(step)
            target = step.readlink()
            way = Path("/") if target.is_absolute() else way
            parts = [*(part for part in target.parts if part != "/"), *parts]
        else:
            way = Path(os.path.normpath(step))
    return found


def _bind(place: int, real: Path, read_only: bool) -> None:
    """Have what an open descriptor leads to below STAGE, where it is outside."""
    target = Path(STAGE + str(real))
    target.parent.mkdir(parents=True, exist_ok=True)
    if stat.S_ISDIR(os.fstat(place).st_mode):
        target.mkdir(exist_ok=True)
    else:
        target.touch()
    system.mount(f"/proc/self/fd/{place}", str(target), None, system.MS_BIND | system.MS_REC)
    if read_only:
        kept = os.statvfs(target).f_flag
        flags = system.MS_REMOUNT | system.MS_BIND | system.MS_RDONLY
        flags |= sum(flag for seen, flag in LOCKED if kept & seen)
        system.mount("none", str(target), None, flags)


def _stand_in_for(child: int) -> NoReturn:
    """Hand on to a child what of SIGNALS comes, which are blocked, and end as it does.

    Keeps no file open meanwhile.
    """
    os.closerange(0, os.sysconf("SC_OPEN_MAX"))
    while True:
        came = signal.sigwait(SIGNALS)
        if came != signal.SIGCHLD:
            with contextlib.suppress(ProcessLookupError):
                os.kill(child, came)
            continue
        ended, status = os.waitpid(-1, os.WNOHANG)
        while ended and ended != child:  # an orphan that its init has to look after
            ended, status = os.waitpid(-1, os.WNOHANG)
        if ended == child:
            if os.WIFSIGNALED(status):
                number = os.WTERMSIG(status)
                if number != signal.SIGKILL:
                    signal.signal(number, signal.SIG_DFL)
                signal.pthread_sigmask(signal.SIG_UNBLOCK, {number})
                os.kill(os.getpid(), number)
            os._exit(os.waitstatus_to_exitcode(status) if os.WIFEXITED(status) else 1)
