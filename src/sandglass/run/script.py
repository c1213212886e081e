"""Programs of somebody's in the lab: Mininet's own command, and scripts that use Mininet."""

import json
import os
import re
import select
import sys
import tempfile
from pathlib import Path
from typing import BinaryIO

from sandglass.errors import SandglassError, UsageError
from sandglass.install import builds
from sandglass.lab import lab
from sandglass.run import loops
from sandglass.terminal import complain

PROGRAM = "src/sandglass/agent/script.py"
PATIENCE_S = 2
PROMPT = b"mininet> "
PROGRAMS = ("usr/bin", "usr/sbin")
OLD_PYTHON = re.compile(
    rb"^SyntaxError: (Missing parentheses in call to|multiple exception types must be parenthesized"
    rb"|leading zeros in decimal)|^TabError: "
    rb"|^NameError: name '(raw_input|xrange|unicode|unichr|execfile|file)' is not defined"
    rb"|^ModuleNotFoundError: No module named '(urllib2|Queue|StringIO|ConfigParser|commands"
    rb"|thread|httplib|SocketServer|SimpleHTTPServer|Tkinter)'"
    rb"|^AttributeError: 'dict' object has no attribute '(iteritems|itervalues|has_key)'",
    re.MULTILINE,
)
"""What Python 3 says of scripts for Python 2."""


def run(
    command: list[str],
    *,
    seed: int,
    memory_mb: int,
    real_time: bool,
    syscall_ns: int = lab.SYSCALL_NS,
) -> int:
    """Run a command in a lab that has the working directory; returns its status.

    What is typed reaches it in real time only. In virtual time it reads what stands in its standard
    input, if that is no terminal, and says the same for the same seed. A system call takes
    `syscall_ns` of it.

    Raises UsageError for a program that the lab would not find, and SandglassError when nothing
    goes on in the lab any more.
    """
    here = Path.cwd()
    typed = sys.stdin is not None and sys.stdin.isatty()
    prompt = real_time and typed
    wanted = {"command": found(command, here), "here": lab.HERE, "prompt": prompt, "seed": seed}
    with tempfile.TemporaryDirectory(prefix="sandglass-script-") as name:
        directory = Path(name)
        (directory / "script.json").write_text(json.dumps(wanted))
        if not prompt:
            given = b"" if typed or sys.stdin is None else _read(sys.stdin.buffer)
            (directory / "typed").write_bytes(given)
        clock = () if real_time else lab.clock(syscall_ns)
        try:
            with loops.watched(directory):
                status = lab.execute(
                    PROGRAM,
                    directory,
                    memory_mb=memory_mb,
                    seed=seed,
                    clock=clock,
                    prompt=prompt,
                    here=here,
                )
        except SandglassError as error:
            hints = filter(None, (error.hint, loops.hint(directory)))
            raise SandglassError(error.message, "\n".join(hints) or None) from None
        if not prompt:
            said = (directory / "console.log").read_bytes()
            _explain(said, failed=status != 0, given=bool(given))
        return status


def _explain(said: bytes, *, failed: bool, given: bool) -> None:
    """Say what a beginner may not see of how a program has ended."""
    if failed and OLD_PYTHON.search(said):
        complain(
            "this is Python 2, and the lab has Python 3",
            "`2to3 --write --nobackups FILE.py` rewrites most of it (Debian's package 2to3).",
        )
    if PROMPT in said and not given:
        complain(
            "Mininet's prompt had nothing to read, and has ended",
            "To type at it: --real-time, as in ./sandglass exec --real-time FILE.py\n"
            "To hand it commands: echo pingall | ./sandglass exec FILE.py",
        )


def _read(stream: BinaryIO) -> bytes:
    """All of a stream; says what it waits for, if that does not come at once."""
    if not select.select([stream], [], [], PATIENCE_S)[0]:
        complain("waiting for the end of the standard input", "</dev/null gives it none")
    return stream.read()


def found(command: list[str], here: Path) -> list[str]:
    """A command as the lab starts it.

    A file of the working directory by its name below that, one in Python by Python, which its first
    line need not say; all else is a program of the lab's, which goes before a file of its name.

    Raises UsageError for a path that leads to neither, or to what cannot be run.
    """
    name, *arguments = command
    path = here / name
    if not name or (path.is_dir() and ("/" in name or name == ".")):
        raise UsageError(f"{name or repr(name)} is no program")
    if path.is_file() and ("/" in name or path.suffix == ".py" or not _is_program(name)):
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


def _is_program(name: str) -> bool:
    """Whether the lab has a program of a name."""
    root = builds.lab_kernel().root
    own = (builds.ROOT / PROGRAM).parent / "bin"
    return any((place / name).is_file() for place in (own, *(root / each for each in PROGRAMS)))


def _in_lab(name: str) -> bool:
    return name.startswith("/") and builds.is_in_root(builds.lab_kernel().root, name)
