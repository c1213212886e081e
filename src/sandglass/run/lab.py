"""The lab: a User-Mode-Linux process in virtual time that runs one plan.

It needs no privilege. The guest sees a root of its own and, read-only, this
checkout; of the host nothing else but the run's directory. Everything the
process needs from the host is given up when it ends, however it ends: its
memory is an unlinked file, and the stubs that run the guest's programs die
with it.
"""

import contextlib
import ctypes
import fcntl
import os
import queue
import re
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from pathlib import Path
from typing import IO

from sandglass.agent.plan import Plan
from sandglass.errors import SandglassError
from sandglass.install import builds, memory
from sandglass.run import bytecode, crash, debugger, messages, reports
from sandglass.terminal import note

# Time and date when a lab boots: any, but always the same.
BOOT_TIME_NS = 1_700_000_000 * 10**9
VIRTUAL_TIME = ("time-travel=inf-cpu", f"time-travel-start={BOOT_TIME_NS}")
WATCHDOG_S = 300
"""A lab that says nothing for this long, in real time, is taken to hang ($SANDGLASS_WATCHDOG)."""
ASKS_WHERE = signal.SIGFPE
"""Has the kernel stop and say where it was; none of its own code divides by zero or computes."""
LAST_WORDS_S = 10
PATIENCE_S = 60
WAIT_S, TOLD_AFTER = 0.02, 100  # between two looks for a processor; after so many it is told
"""How long a program of somebody's may let virtual time stand still ($SANDGLASS_WATCHDOG)."""
BEAT_S = 1.0
"""How often a lab that says nothing is looked at."""
PIECE = 1 << 16
DEBUG_MEMORY = 3
"""How many times as much memory a lab needs when its kernel watches over it."""
PDEATHSIG = 1  # PR_SET_PDEATHSIG of <linux/prctl.h>
FIRST_DOOR = 30  # the first of the file descriptors that a lab inherits
CODE = "/run/sandglass/code"
AGENT = "src/sandglass/agent"
RUN = "/run/sandglass/run"
LAB = "/run/sandglass/lab"
STAMP = re.compile(rb"\[ *(\d+\.\d+)\]")  # of a message of the kernel, in seconds since its start
_libc = ctypes.CDLL(None)

Progress = Callable[[float, float], None]


@contextlib.contextmanager
def own_processor() -> Iterator[int]:
    """A processor that no other lab uses; waits until there is one.

    A lab hands over between its kernel and its programs thousands of times a
    second. Across processors that costs more than the work itself.
    """
    directory = Path("/tmp/sandglass-processors")  # of all users, whatever their TMPDIR
    with contextlib.suppress(FileExistsError):
        directory.mkdir()
        directory.chmod(0o1777)
    waits = 0
    while True:
        for number in sorted(os.sched_getaffinity(0), reverse=True):
            path = directory / str(number)
            descriptor = _open_shared(path)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                os.close(descriptor)
                continue
            try:
                yield number
                return
            finally:
                os.close(descriptor)
        waits += 1
        if waits == TOLD_AFTER:
            note("every processor has a lab at work: waiting until one has not")
        time.sleep(WAIT_S)


def _open_shared(path: Path) -> int:
    """Open a lock file that other users' labs may have created."""
    try:
        return os.open(path, os.O_RDONLY)
    except FileNotFoundError:
        return os.open(path, os.O_RDONLY | os.O_CREAT, 0o644)


@dataclass(frozen=True)
class _Doors:
    """Directories of the host that a lab opens, under the same names in every lab.

    The kernel stirs its command line into its random numbers, so that no path
    may stand there. The process inherits each directory as a file descriptor
    instead, and knows it as a path below /proc/self/fd.
    """

    run: Path
    kernel: Path
    guest: Path
    code: Path
    programs: Path

    def path(self, name: str) -> str:
        return f"/proc/self/fd/{FIRST_DOOR + [f.name for f in fields(self)].index(name)}"

    @contextlib.contextmanager
    def opened(self) -> Iterator[list[int]]:
        """Descriptors of them all, with higher numbers than those that the lab knows them by."""
        with contextlib.ExitStack() as stack:
            above = FIRST_DOOR + len(fields(self))
            handles = []
            for field in fields(self):
                handle = os.open(getattr(self, field.name), os.O_PATH | os.O_DIRECTORY)
                stack.callback(os.close, handle)
                handles.append(fcntl.fcntl(handle, fcntl.F_DUPFD_CLOEXEC, above))
                stack.callback(os.close, handles[-1])
            yield handles


def _doors(kernel: builds.LabKernel, directory: Path) -> _Doors:
    return _Doors(
        run=directory,
        kernel=kernel.linux.parent,
        guest=kernel.init.parent,
        code=builds.ROOT,
        programs=kernel.root,
    )


def _start(
    directory: Path,
    arguments: list[str],
    processor: int,
    pipe: int | None,
    *,
    memory_mb: int,
    seed: int,
    gdb: list[str] | None = None,
    zero_ns: int = 0,
    ipv6: bool = False,
) -> "subprocess.Popen[bytes]":
    """Start a lab, or gdb on one, if there are arguments of `gdb`; to it time begins at `zero_ns`.

    Without `ipv6` no interface has an address of it by itself, and nothing is sent for it.
    """
    kernel = builds.lab_kernel()
    bytecode.compile_guests(kernel.root)
    doors = _doors(kernel, directory)
    command = [
        "linux",
        f"mem={memory_mb * (DEBUG_MEMORY if _debug() else 1)}M",
        "root=/dev/root",
        "rootfstype=hostfs",
        "rootflags=/",
        "ro",
        f"init={doors.path('guest')}/init",
        f"rng-seed={seed}",
        f"ipv6.disable_ipv6={int(not ipv6)}",
        "norandmaps",
        "quiet",
        "con=null",
        "con0=fd:0,fd:1",
        "ssl=null",
        *_seccomp(),
        f"uml_dir={doors.path('run')}/",
        f"SANDGLASS_CODE={doors.path('code')}",
        f"SANDGLASS_LAB={doors.path('guest')}",
        f"SANDGLASS_PROGRAMS={doors.path('programs')}",
        f"SANDGLASS_RUN={doors.path('run')}",
        *arguments,
    ]

    parent = os.getpid()
    environment = {"TMPDIR": str(memory.directory()), "PATH": os.defpath, "HOME": "/"}

    with doors.opened() as handles:

        def in_child() -> None:
            """Only system calls: whatever lock another thread holds now, it keeps here for ever."""
            _libc.prctl(PDEATHSIG, signal.SIGKILL)
            if os.getppid() != parent:  # it died before it could be told
                os._exit(1)
            os.sched_setaffinity(0, {processor})
            for number, handle in enumerate(handles, FIRST_DOOR):
                os.dup2(handle, number)

        if gdb is not None:
            return debugger.start(kernel, command, environment, in_child, gdb, zero_ns)
        return subprocess.Popen(
            command,
            executable=kernel.linux,
            env=environment,
            preexec_fn=in_child,  # noqa: PLW1509 it takes no lock
            close_fds=False,  # Python's are closed on exec anyway, the doors must stay
            stdin=pipe,
            stdout=pipe,
            stderr=subprocess.STDOUT if pipe else None,
        )


def _seccomp() -> list[str]:
    """Let programs stop at a seccomp filter, where the kernel can, which is faster than ptrace."""
    return ["seccomp=auto"] if builds.age(builds.chosen_kernel()) >= [6, 16] else []


def _debug() -> bool:
    return builds.is_debug(builds.chosen_kernel())


def _python(path: str, *arguments: str) -> list[str]:
    return ["/usr/bin/python3", "-SBsE", f"{CODE}/{path}", *arguments]


def _program(path: str, *arguments: str) -> list[str]:
    """What init runs: a program of this checkout that is told the run's directory."""
    return ["--", *_python(path, RUN, *arguments)]


def _watched(path: str, *arguments: str) -> list[str]:
    """A program after which the debug lab looks for what it has left behind.

    That has to wait for minutes, which only virtual time has.
    """
    if not _debug():
        return _program(path, *arguments)
    return ["--", *_python("src/sandglass/agent/leaks.py"), *_python(path, RUN, *arguments)]


def run(
    plan: Plan,
    directory: Path,
    progress: Progress | None = None,
    gdb: list[str] | None = None,
    beside: Callable[[], None] = lambda: None,
) -> None:
    """Boot a lab that carries out the plan in `directory`, which holds plan.json.

    `beside` is called once it is at work, and need not wait for it.

    The console goes to console.log there. With arguments of `gdb` that has the terminal, and the
    lab starts when it is told to.

    Raises SandglassError with the guest's own words, or when the lab hangs or dies.
    """
    watchdog_s = float(os.environ.get("SANDGLASS_WATCHDOG", WATCHDOG_S)) if gdb is None else None
    arguments = [*VIRTUAL_TIME, *_watched(AGENT, "run", "lab", LAB)]
    console = directory / "console.log"
    # one in which somebody looks around keeps no other waiting
    place = own_processor() if gdb is None else contextlib.nullcontext(max(os.sched_getaffinity(0)))
    with (
        place as processor,
        reports.looked_for(console, builds.lab_kernel().symbols),
        console.open("wb") as log,
    ):
        # A pipe as input too: the console wants something that can be waited for.
        process = _start(
            directory,
            arguments,
            processor,
            subprocess.PIPE,
            memory_mb=plan["memory_mb"],
            seed=plan["seed"],
            gdb=gdb,
            zero_ns=plan["zero_ns"],
        )
        said: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        assert process.stdout
        reader = threading.Thread(target=_read, args=(process.stdout, said), daemon=True)
        reader.start()
        threading.Thread(target=beside, daemon=True).start()
        failure: dict[str, str | None] | None = None
        done = False
        status: int | None
        try:
            while (line := said.get(timeout=watchdog_s)) is not None:
                message = messages.read(line)
                if message is None:
                    log.write(_timed(line, plan["zero_ns"]))
                elif message["kind"] == "progress" and progress:
                    progress(float(message["virtual_s"] or 0), plan["duration_ns"] / 1e9)
                elif message["kind"] == "error":
                    failure = message
                elif message["kind"] == "done":
                    done = True
            status = process.wait()
        except queue.Empty:
            process.send_signal(ASKS_WHERE)
            with contextlib.suppress(queue.Empty):
                while (line := said.get(timeout=LAST_WORDS_S)) is not None:
                    log.write(_timed(line, plan["zero_ns"]))
            status = None
        finally:
            _end(process)
    if failure:
        raise SandglassError(str(failure["message"]), failure["hint"])
    if done and (status == 0 or gdb is not None):
        return
    raise _unfinished(console, status, watchdog_s)


TOO_MANY_PIECES = "UML ran out of memory on the host side!"
"""Each page of a program that does not lie behind the last one is a mapping of the host's."""


def _unfinished(console: Path, status: int | None, watchdog_s: float | None) -> SandglassError:
    """What there is to say of a lab that ended early; a status of None: for its silence."""
    crashed = crash.read(console, builds.lab_kernel().symbols)
    if watchdog_s and status is None:
        return crash.hang(crashed, watchdog_s)
    if crashed:
        return crashed.error()
    if TOO_MANY_PIECES in console.read_text(errors="replace"):
        return SandglassError(
            "a program in the lab has its memory in more pieces than this machine allows",
            "try fewer flows at once, or as root: sysctl vm.max_map_count=1000000",
        )
    how = f" with status {status}" if watchdog_s else ""
    return SandglassError(f"the lab ended{how} before the run was complete", _tail(console))


def run_program(
    path: str,
    directory: Path,
    *,
    memory_mb: int = 256,
    seed: int = 1,
    clock: tuple[str, ...] = VIRTUAL_TIME,
) -> None:
    """Boot a lab that runs one Python program of this checkout instead of an experiment.

    `clock` is what the kernel is told of time; without a word it keeps the host's, in real time.

    The program's argument is the guest's name for `directory`, the only place it can write to.
    Its console goes to console.log there.

    Raises SandglassError with the end of the console when it fails or hangs.
    """
    console = directory / "console.log"
    arguments = [*clock, *(_watched if clock else _program)(path)]
    with own_processor() as processor:
        process = _start(
            directory, arguments, processor, subprocess.PIPE, memory_mb=memory_mb, seed=seed
        )
        # Python would close it, and the end of its input hangs a terminal up.
        typed, process.stdin = process.stdin, None
        try:
            said, _ = process.communicate(timeout=WATCHDOG_S)
        except subprocess.TimeoutExpired:
            raise SandglassError(f"{path} has not ended within {WATCHDOG_S} s") from None
        finally:
            process.stdin = typed
            _end(process)
    console.write_bytes(said)
    reports.fail_on_report(console, builds.lab_kernel().symbols)
    if process.returncode:
        raise SandglassError(f"{path} ended with status {process.returncode}", _tail(console))


def execute(
    path: str,
    directory: Path,
    *,
    memory_mb: int,
    seed: int,
    clock: tuple[str, ...],
    prompt: bool,
) -> int:
    """Boot a lab for one Python program of this checkout; returns the program's status.

    What it says is shown as it says it, or it has the terminal, for a prompt. `clock` is what the
    kernel is told of time; without a word it keeps the host's.

    Raises SandglassError when in virtual time nothing is said, nor the file `beat` in `directory`
    changed, for PATIENCE_S: time stands still.
    """
    patience_s = float(os.environ.get("SANDGLASS_WATCHDOG", PATIENCE_S)) if clock else None
    console, beat = directory / "console.log", directory / "beat"
    # Of the kernel's own messages none is the program's but a panic.
    arguments = ["loglevel=1", *clock, *_program(path)]
    pipe = None if prompt else subprocess.PIPE
    with own_processor() as processor:
        process = _start(
            directory, arguments, processor, pipe, memory_mb=memory_mb, seed=seed, ipv6=True
        )
        try:
            ended = process.stdout is None or _shown(process.stdout, console, beat, patience_s)
            if not ended and process.stdout:
                process.send_signal(ASKS_WHERE)
                _kept(process.stdout, console)
            status = process.wait() if ended else None
        finally:
            _end(process)
    symbols = builds.lab_kernel().symbols
    crashed = crash.read(console, symbols, crash.PROGRAM) if console.exists() else None
    if status is None and patience_s:
        raise crash.hang(crashed, patience_s)
    if crashed:
        raise crashed.error()
    return status or 0


def _shown(stream: IO[bytes], console: Path, beat: Path, patience_s: float | None) -> bool:
    """Show and keep what a lab says; returns whether it came to its end.

    Else it gave no sign of life for `patience_s`.
    """
    heard = time.time()
    with console.open("wb") as log:
        while True:
            if select.select([stream], [], [], BEAT_S)[0]:
                said = os.read(stream.fileno(), PIECE)
                if not said:
                    return True
                log.write(said)
                sys.stdout.buffer.write(said)
                sys.stdout.buffer.flush()
                heard = time.time()
            with contextlib.suppress(FileNotFoundError):
                heard = max(heard, beat.stat().st_mtime)
            if patience_s and time.time() > heard + patience_s:
                return False


def _kept(stream: IO[bytes], console: Path) -> None:
    """Keep the last words of a lab."""
    with console.open("ab") as log:
        while select.select([stream], [], [], LAST_WORDS_S)[0]:
            said = os.read(stream.fileno(), PIECE)
            if not said:
                return
            log.write(said)


def _read(stream: object, said: "queue.SimpleQueue[bytes | None]") -> None:
    for line in stream:  # type: ignore[attr-defined]
        said.put(line)
    said.put(None)


def _timed(line: bytes, zero_ns: int) -> bytes:
    """A line of the console; the kernel's messages get the time of the experiment."""
    if stamped := STAMP.match(line):
        return b"[%13.6f]" % (float(stamped[1]) - zero_ns / 1e9) + line[stamped.end() :]
    return line


def _end(process: "subprocess.Popen[bytes]") -> None:
    if process.poll() is None:
        process.kill()
        process.wait()
    for stream in (process.stdin, process.stdout):
        if stream:
            with contextlib.suppress(BrokenPipeError):
                stream.close()


def _tail(console: Path, lines: int = 5) -> str:
    return "\n".join(console.read_text(errors="replace").splitlines()[-lines:])


def shell(plan: Plan, directory: Path) -> int:
    """Mininet's prompt on the network of a plan, in real time; returns the guest's status.

    Commands may also come from a pipe or a file; the prompt ends with them.
    """
    typed = sys.stdin is not None and sys.stdin.isatty()
    if not typed:
        commands = sys.stdin.read() if sys.stdin else ""
        (directory / "commands").write_text(commands)
    with own_processor() as processor:
        process = _start(
            directory,
            _program(AGENT, "shell", "lab", LAB),
            processor,
            None if typed else subprocess.PIPE,
            memory_mb=plan["memory_mb"],
            seed=plan["seed"],
        )
        try:
            for line in process.stdout or ():
                sys.stdout.buffer.write(line)
                sys.stdout.buffer.flush()
            return process.wait()
        finally:
            _end(process)
