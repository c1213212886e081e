"""Seccomp: which system calls a process may do.

A filter is a program of classic BPF (Documentation/userspace-api/seccomp_filter.rst of Linux). What
it does not allow fails, and the process goes on. A guest's program is held by the lab's kernel
before any filter sees it, so this is for whoever gets into that kernel.
"""

import ctypes
import errno
import struct
from collections.abc import Iterable, Mapping, Sequence

from sandglass.cage import system_calls as system

SET_MODE_FILTER = 1
SPEC_ALLOW = 4  # else Linux before 5.16 has every branch mispredicted, against neighbours
X86_64 = 0xC000003E  # AUDIT_ARCH_X86_64
ALLOW, ERRNO = 0x7FFF0000, 0x00050000  # SECCOMP_RET_*
LOAD, JUMP_EQUAL, JUMP_AT_LEAST, JUMP_ANY_BIT, RETURN, AND = 0x20, 0x15, 0x35, 0x45, 0x06, 0x54
NUMBER_AT, MACHINE_AT, ARGUMENTS_AT = 0, 4, 16  # in struct seccomp_data
OTHER_NUMBERS = 0x40000000  # those of x32

# <asm/unistd_64.h>
NUMBERS = {
    "read": 0, "write": 1, "open": 2, "close": 3, "stat": 4, "fstat": 5, "lstat": 6, "poll": 7,
    "lseek": 8, "mmap": 9, "mprotect": 10, "munmap": 11, "brk": 12, "rt_sigaction": 13,
    "rt_sigprocmask": 14, "rt_sigreturn": 15, "ioctl": 16, "pread64": 17, "pwrite64": 18,
    "readv": 19, "writev": 20, "access": 21, "pipe": 22, "select": 23, "sched_yield": 24,
    "mremap": 25, "msync": 26, "madvise": 28, "dup": 32, "dup2": 33, "pause": 34,
    "nanosleep": 35, "getpid": 39, "socket": 41, "sendmsg": 46, "recvmsg": 47, "socketpair": 53,
    "clone": 56, "fork": 57,
    "vfork": 58, "execve": 59, "exit": 60, "wait4": 61, "kill": 62, "uname": 63, "fcntl": 72,
    "flock": 73, "fsync": 74, "fdatasync": 75, "truncate": 76, "ftruncate": 77, "getdents": 78,
    "getcwd": 79, "chdir": 80, "fchdir": 81, "rename": 82, "mkdir": 83, "rmdir": 84, "creat": 85,
    "link": 86, "unlink": 87, "symlink": 88, "readlink": 89, "chmod": 90, "fchmod": 91,
    "chown": 92, "fchown": 93, "lchown": 94, "umask": 95, "getrlimit": 97, "sysinfo": 99,
    "times": 100, "ptrace": 101, "getuid": 102, "getgid": 104, "geteuid": 107, "getegid": 108,
    "setpgid": 109, "getppid": 110, "setsid": 112, "sigaltstack": 131, "mknod": 133,
    "personality": 135, "statfs": 137, "fstatfs": 138, "prctl": 157, "arch_prctl": 158,
    "setrlimit": 160, "mount": 165, "umount2": 166, "pivot_root": 155, "chroot": 161,
    "gettid": 186, "tkill": 200, "futex": 202, "sched_setaffinity": 203,
    "sched_getaffinity": 204, "epoll_create": 213, "getdents64": 217, "set_tid_address": 218,
    "timer_create": 222, "timer_settime": 223, "timer_gettime": 224, "timer_getoverrun": 225,
    "timer_delete": 226, "clock_gettime": 228, "clock_getres": 229, "clock_nanosleep": 230,
    "exit_group": 231, "epoll_wait": 232, "epoll_ctl": 233, "tgkill": 234, "utimes": 235,
    "waitid": 247, "add_key": 248, "request_key": 249, "keyctl": 250, "openat": 257,
    "mkdirat": 258, "mknodat": 259, "fchownat": 260, "futimesat": 261, "newfstatat": 262,
    "unlinkat": 263, "renameat": 264, "linkat": 265, "symlinkat": 266, "readlinkat": 267,
    "fchmodat": 268, "faccessat": 269, "pselect6": 270, "ppoll": 271, "unshare": 272,
    "set_robust_list": 273, "utimensat": 280, "epoll_pwait": 281, "signalfd": 282,
    "timerfd_create": 283,
    "eventfd": 284, "fallocate": 285, "timerfd_settime": 286, "timerfd_gettime": 287,
    "signalfd4": 289, "eventfd2": 290, "epoll_create1": 291, "dup3": 292, "pipe2": 293,
    "preadv": 295,
    "pwritev": 296, "perf_event_open": 298, "prlimit64": 302, "open_by_handle_at": 304,
    "setns": 308, "process_vm_readv": 310, "process_vm_writev": 311, "renameat2": 316,
    "seccomp": 317, "getrandom": 318, "memfd_create": 319, "bpf": 321, "execveat": 322,
    "userfaultfd": 323, "statx": 332, "rseq": 334, "io_uring_setup": 425, "clone3": 435,
    "close_range": 436, "openat2": 437, "pidfd_getfd": 438, "faccessat2": 439,
    "fchmodat2": 452,
}  # fmt: skip
NETWORKED = ("socket",)
PRIVILEGED = (
    "mount", "umount2", "pivot_root", "chroot", "unshare", "setns", "ptrace", "bpf",
    "perf_event_open", "add_key", "request_key", "keyctl", "open_by_handle_at",
    "process_vm_readv", "process_vm_writev", "userfaultfd", "io_uring_setup", "pidfd_getfd",
)  # fmt: skip
LAB = tuple(
    sorted(
        NUMBERS.keys() - {*NETWORKED, *PRIVILEGED, "clone3", "openat2"} | {"ptrace"},
        key=NUMBERS.__getitem__,
    )
)
"""What the lab's kernel and the processes that run its guest's programs do."""
NEW_NAMESPACES = 0x7E020000  # CLONE_NEW* of clone()
CREATES = 0o20000100  # O_CREAT and the bit of its own of O_TMPFILE
SET_ID = 0o6000
KIND, CHARACTERS, BLOCKS = 0o170000, 0o020000, 0o060000
TIOCSTI, TIOCLINUX = 0x5412, 0x541C  # which type at the terminal in its user's stead

Instruction = tuple[int, int, int, int]
"""Code, how far to jump if true and if not, and a number, as of struct sock_filter."""


def lab_filter() -> bytes:
    """The filter of a lab: nothing but what its kernel does."""
    return _program({name: _conditions(name) for name in LAB}, allow_others=False)


def tool_filter() -> bytes:
    """The filter of a program of this machine's, such as a compiler: no network, no privilege."""
    refused = [*NETWORKED, *PRIVILEGED, "clone3", "openat2"]
    checked = [name for name in NUMBERS if name not in refused and _conditions(name)]
    return _program({name: _conditions(name) for name in checked}, refused, allow_others=True)


def _conditions(name: str) -> Sequence[Instruction]:
    """What refuses some of a system call's arguments: it ends in a return if one is refused."""
    refuse = (RETURN, 0, 0, ERRNO | errno.EPERM)
    mode = {"creat": 1, "mkdir": 1, "chmod": 1, "fchmod": 1, "mknod": 1, "mkdirat": 2,
            "fchmodat": 2, "fchmodat2": 2, "mknodat": 2, "open": 2, "openat": 3}  # fmt: skip
    checks: list[Instruction] = []
    if name == "clone":
        checks += [_argument(0), (JUMP_ANY_BIT, 0, 1, NEW_NAMESPACES), refuse]
    if name == "ioctl":
        for command in (TIOCSTI, TIOCLINUX):
            checks += [_argument(1), (JUMP_EQUAL, 0, 1, command), refuse]
    if name in {"open", "openat"}:
        flags = mode[name] - 1
        checks += [_argument(flags), (JUMP_ANY_BIT, 0, 3, CREATES)]
    if name in mode:
        checks += [_argument(mode[name]), (JUMP_ANY_BIT, 0, 1, SET_ID), refuse]
    if name in {"mknod", "mknodat"}:
        for kind in (CHARACTERS, BLOCKS):
            checks += [_argument(mode[name]), (AND, 0, 0, KIND), (JUMP_EQUAL, 0, 1, kind), refuse]
    return checks


def _argument(number: int) -> Instruction:
    """Load the lower half of an argument: those that are looked at have no upper one."""
    return (LOAD, 0, 0, ARGUMENTS_AT + 8 * number)


def _program(
    checked: Mapping[str, Sequence[Instruction]],
    refused: Iterable[str] = (),
    *,
    allow_others: bool,
) -> bytes:
    nothing = (RETURN, 0, 0, ERRNO | errno.ENOSYS)
    allow = (RETURN, 0, 0, ALLOW)
    program: list[Instruction] = [
        (LOAD, 0, 0, MACHINE_AT), (JUMP_EQUAL, 1, 0, X86_64), nothing,
        (LOAD, 0, 0, NUMBER_AT), (JUMP_AT_LEAST, 0, 1, OTHER_NUMBERS), nothing,
    ]  # fmt: skip
    for name in refused:
        program += [(JUMP_EQUAL, 0, 1, NUMBERS[name]), nothing]
    for name, conditions in checked.items():
        program += [(JUMP_EQUAL, 0, len(conditions) + 1, NUMBERS[name]), *conditions, allow]
    program.append(allow if allow_others else nothing)
    return b"".join(struct.pack("=HBBI", *instruction) for instruction in program)


def confine(program: bytes) -> None:
    """Put this process, and all that it starts, behind a filter, for good.

    It must have given up new privileges before.
    """
    code = ctypes.create_string_buffer(program, len(program))
    whole = struct.pack("=H6xQ", len(program) // 8, ctypes.addressof(code))
    described = ctypes.create_string_buffer(whole, len(whole))  # struct sock_fprog
    system.call(system.SYS_SECCOMP, SET_MODE_FILTER, SPEC_ALLOW, described)
