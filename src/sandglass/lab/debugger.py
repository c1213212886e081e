"""gdb on a lab, which stops virtual time with it: whoever waits there changes no result."""

import fcntl
import os
import shlex
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

from sandglass.install import builds

FIRST_OF_CONSOLE = 64  # of the file descriptors, behind those of the lab's directories


def start(
    kernel: builds.LabKernel,
    lab: list[str],
    environment: dict[str, str],
    in_child: Callable[[], None],
    arguments: list[str],
    zero_ns: int,
) -> "subprocess.Popen[bytes]":
    """Start gdb on a lab that has not begun yet; its output is what the lab will say.

    Args:
        lab: the lab's command line, its name first.
        environment: the lab's.
        in_child: what prepares the process.
        arguments: more of gdb's.
        zero_ns: the lab's time when the experiment starts.
    """
    said, saying = os.pipe()
    # As input the console wants something that can be waited for. gdb has the terminal.
    ends = (saying, *os.pipe())
    inherited = [fcntl.fcntl(end, fcntl.F_DUPFD, FIRST_OF_CONSOLE) for end in ends]
    output, silent, _ = inherited

    def prepare() -> None:
        in_child()
        signal.signal(signal.SIGINT, signal.SIG_DFL)

    wrapper = shlex.join(["env", "-i", *(f"{name}={value}" for name, value in environment.items())])
    fd = "/proc/self/fd"
    commands = [
        # with one of its own, an interrupt at the terminal reaches gdb, and not the lab's programs
        "set inferior-tty /dev/null",
        f"set exec-wrapper {wrapper}",
        f"set args {shlex.join(lab[1:])} <{fd}/{silent} >{fd}/{output} 2>&1",
        *(f"set substitute-path {name} {place}" for name, place in source_places().items()),
    ]
    script = builds.ROOT / "kernel" / "gdb.py"
    words = [word for command in commands for word in ("-ex", command)]
    process = subprocess.Popen(
        ["gdb", "-q", str(kernel.linux), *words, "-x", str(script), *arguments],
        env=os.environ
        | {
            "SHELL": "/bin/sh",
            "SANDGLASS_SYMBOLS": str(kernel.symbols),
            "SANDGLASS_ZERO_NS": str(zero_ns),
        },
        preexec_fn=prepare,  # noqa: PLW1509 it takes no lock, and no thread of ours runs yet
        close_fds=False,  # the lab's must stay
    )
    for descriptor in (*ends, *inherited):
        os.close(descriptor)
    process.stdout = os.fdopen(said, "rb")
    return process


def source_places() -> dict[str, Path]:
    """Where sources lie, by the names that a debugger is told; a user's own directories first."""
    ours, *own = builds.module_directories()
    places = {
        f"{builds.DEBUG_ROOT}/kmods/{module.name}": module
        for directory in own
        for module in sorted(directory.iterdir())
        if (module / "Kbuild").is_file()
    }
    return places | {f"{builds.DEBUG_ROOT}/kmods": ours}
