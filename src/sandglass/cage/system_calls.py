"""System calls that Python does not offer, as a child does them between fork and exec.

Each raises OSError. They take no lock and allocate next to nothing, since other threads of the
parent may have held a lock when it forked.
"""

import ctypes
import os

# <linux/prctl.h>, <linux/sched.h>, <linux/mount.h>, <asm/unistd_64.h>, <linux/capability.h>
PR_SET_PDEATHSIG, PR_CAPBSET_DROP, PR_SET_NO_NEW_PRIVS = 1, 24, 38
CLONE_NEWNS, CLONE_NEWIPC, CLONE_NEWUSER = 0x20000, 0x8000000, 0x10000000
CLONE_NEWPID, CLONE_NEWNET = 0x20000000, 0x40000000
MS_RDONLY, MS_NOSUID, MS_NODEV, MS_REMOUNT = 1, 2, 4, 32
MS_BIND, MS_REC, MS_PRIVATE = 4096, 16384, 1 << 18
MNT_DETACH = 2
SYS_PIVOT_ROOT, SYS_CAPSET, SYS_RENAMEAT2, SYS_SECCOMP = 155, 126, 316, 317
SYS_MEMFD_CREATE, MFD_CLOEXEC = 319, 1
SYS_LANDLOCK_CREATE_RULESET, SYS_LANDLOCK_ADD_RULE, SYS_LANDLOCK_RESTRICT_SELF = 444, 445, 446
CAPABILITY_VERSION_3 = 0x20080522
LAST_CAPABILITY = 63  # as many as capset() knows

_libc = ctypes.CDLL(None, use_errno=True)


def call(number: int, *arguments: object) -> int:
    """A system call by its number; returns what it does, if that is no failure."""
    return _checked(_libc.syscall(number, *arguments))


def prctl(option: int, value: int) -> None:
    """Set something of this process."""
    _checked(_libc.prctl(option, ctypes.c_ulong(value), 0, 0, 0))


def unshare(flags: int) -> None:
    """Enter namespaces of one's own."""
    _checked(_libc.unshare(flags))


def mount(source: str, target: str, kind: str | None, flags: int, options: str = "") -> None:
    """Mount a file system, or a part of one (MS_BIND)."""
    kind_bytes = kind.encode() if kind else None
    _checked(
        _libc.mount(
            os.fsencode(source), os.fsencode(target), kind_bytes, ctypes.c_ulong(flags),
            options.encode() or None,
        )
    )  # fmt: skip


def unmount(target: str, flags: int) -> None:
    """Take a mount away."""
    _checked(_libc.umount2(os.fsencode(target), flags))


def keep_capabilities(*kept: int) -> None:
    """Give up all capabilities but these, given by their numbers, for good."""
    for number in range(LAST_CAPABILITY + 1):
        if number not in kept:
            try:
                prctl(PR_CAPBSET_DROP, number)
            except OSError:  # no such capability, or none to begin with
                break
    words = [0, 0]
    for number in kept:
        words[number // 32] |= 1 << number % 32
    header = (ctypes.c_uint32 * 2)(CAPABILITY_VERSION_3, 0)
    sets = (ctypes.c_uint32 * 6)(words[0], words[0], 0, words[1], words[1], 0)
    call(SYS_CAPSET, ctypes.byref(header), ctypes.byref(sets))


def _checked(result: int) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result
