"""Programs of somebody's in the lab: Mininet's own command, and scripts that use Mininet."""

import json
import os
import select
import sys
import tempfile
from pathlib import Path
from typing import BinaryIO

from sandglass.errors import UsageError
from sandglass.install import builds
from sandglass.run import lab
from sandglass.terminal import complain

PROGRAM = "src/sandglass/agent/script.py"
SYSCALL_NS = 2000
PATIENCE_S = 2
BYTE_PS = 500
"""What a system call takes in virtual time, and each byte that it copies: of a small machine."""
CLOCK = (*lab.VIRTUAL_TIME, f"syscall-cost={SYSCALL_NS},{BYTE_PS}")


def run(command: list[str], *, seed: int, memory_mb: int, real_time: bool) -> int:
    """Run a command in a lab that has the working directory; returns its status.

    What is typed reaches it in real time only. In virtual time it reads what stands in its standard
    input, if that is no terminal, and says the same for the same seed.

    Raises UsageError for a program that the lab would not find, and SandglassError when nothing
    goes on in the lab any more.
    """
    here = Path.cwd()
    typed = sys.stdin is not None and sys.stdin.isatty()
    prompt = real_time and typed
    wanted = {"command": found(command, here), "here": lab.HERE, "prompt": prompt}
    with tempfile.TemporaryDirectory(prefix="sandglass-script-") as name:
        directory = Path(name)
        (directory / "script.json").write_text(json.dumps(wanted))
        if not prompt:
            given = b"" if typed or sys.stdin is None else _read(sys.stdin.buffer)
            (directory / "typed").write_bytes(given)
        clock = () if real_time else CLOCK
        return lab.execute(
            PROGRAM,
            directory,
            memory_mb=memory_mb,
            seed=seed,
            clock=clock,
            prompt=prompt,
            here=here,
        )


def _read(stream: BinaryIO) -> bytes:
    """All of a stream; says what it waits for, if that does not come at once."""
    if not select.select([stream], [], [], PATIENCE_S)[0]:
        complain("waiting for the end of the standard input", "</dev/null gives it none")
    return stream.read()


def found(command: list[str], here: Path) -> list[str]:
    """A command as the lab starts it.

    A file of the working directory by its name below that, one in Python by Python, which its first
    line need not say; all else is a program of the lab's.

    Raises UsageError for a path that leads to neither, or to what cannot be run.
    """
    name, *arguments = command
    path = here / name
    if not name or (path.is_dir() and ("/" in name or name == ".")):
        raise UsageError(f"{name or repr(name)} is no program")
    if path.is_file() and ("/" in name or path.suffix == ".py"):
        if path.resolve().is_relative_to(here.resolve()):
            own = f"./{path.resolve().relative_to(here.resolve())}"
            if path.suffix != ".py" and not os.access(path, os.X_OK):
                raise UsageError(f"{name} is not executable", f"Make it so: chmod +x '{path}'")
            return [*(["python3"] if path.suffix == ".py" else []), own, *arguments]
        if not _in_lab(name):
            raise UsageError(
                f"{name} is not below the working directory",
                "The lab sees nothing else of this machine: change to a directory that holds it.",
            )
    elif "/" in name and not _in_lab(name):
        raise UsageError(f"no file {name}")
    return command


def _in_lab(name: str) -> bool:
    return name.startswith("/") and builds.is_in_root(builds.lab_kernel().root, name)
