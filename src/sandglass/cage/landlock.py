"""Landlock: which files a process may open, by rules that the kernel holds it to.

As in <linux/landlock.h> and Documentation/userspace-api/landlock.rst of Linux.
"""

import ctypes
import os
import stat
import struct
from collections.abc import Iterable
from pathlib import Path

from sandglass.cage import system_calls as system

EXECUTE, WRITE_FILE, READ_FILE, READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
MAKE_CHAR, MAKE_BLOCK, REFER, TRUNCATE, IOCTL_DEV = 1 << 6, 1 << 11, 1 << 13, 1 << 14, 1 << 15
RIGHTS = (0, 0x1FFF, 0x3FFF, 0x7FFF, 0x7FFF, 0xFFFF)
"""All rights to files that a version of Landlock knows; later ones know those of the last."""
NETWORK_SINCE, SCOPES_SINCE = 4, 6
NETWORK = 1 << 0 | 1 << 1  # to bind and to connect TCP
SCOPES = 1 << 0 | 1 << 1  # abstract sockets and signals, of processes outside
READING = EXECUTE | READ_FILE | READ_DIR
OF_A_FILE = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEV
CREATE_RULESET_VERSION, RULE_PATH_BENEATH = 1, 1
NULL = Path("/dev/null")


def version() -> int:
    """The version of Landlock that this kernel has; 0: none."""
    try:
        return system.call(system.SYS_LANDLOCK_CREATE_RULESET, None, 0, CREATE_RULESET_VERSION)
    except OSError:
        return 0


def seals_signals(version: int) -> bool:
    """Whether a version of Landlock keeps signals from processes outside."""
    return version >= SCOPES_SINCE


def ruleset(read: Iterable[Path], write: Iterable[Path], listed: Iterable[Path]) -> int:
    """A file descriptor of rules by which files below some paths may be read, or written, too.

    Of what is below those that are `listed`, the names may be read.

    What is not there is left out. Nothing else may be opened, and no device be made.
    """
    known = version()
    rights = RIGHTS[min(known, len(RIGHTS) - 1)]
    handled = struct.pack(
        "=QQQ",
        rights,
        NETWORK if known >= NETWORK_SINCE else 0,
        SCOPES if seals_signals(known) else 0,
    )
    size = len(handled) if seals_signals(known) else 16 if known >= NETWORK_SINCE else 8
    rules = system.call(
        system.SYS_LANDLOCK_CREATE_RULESET, ctypes.create_string_buffer(handled, 24), size, 0
    )
    writing = rights & ~(MAKE_CHAR | MAKE_BLOCK | EXECUTE)
    given = [(path, READING) for path in read] + [(path, writing) for path in write]
    given += [(path, READ_DIR) for path in listed]
    for path, access in [*given, (NULL, READ_FILE | WRITE_FILE | TRUNCATE | IOCTL_DEV)]:
        _allow(rules, path, access & rights)
    return rules


def _allow(rules: int, path: Path, access: int) -> None:
    try:
        place = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except FileNotFoundError:
        return
    try:
        if not stat.S_ISDIR(os.fstat(place).st_mode):
            access &= OF_A_FILE
        beneath = ctypes.create_string_buffer(struct.pack("=Qi", access, place), 12)
        system.call(system.SYS_LANDLOCK_ADD_RULE, rules, RULE_PATH_BENEATH, beneath, 0)
    finally:
        os.close(place)


def restrict(rules: int) -> None:
    """Hold this process and all that it starts to the rules, for good."""
    system.prctl(system.PR_SET_NO_NEW_PRIVS, 1)
    system.call(system.SYS_LANDLOCK_RESTRICT_SELF, rules, 0)
