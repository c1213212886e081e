"""The lab: a User-Mode-Linux process in virtual time that runs one plan.

It needs no privilege. The guest sees a root of its own and, read-only, this
checkout; of the host nothing else but the run's directory. The process is in a
cage (sandglass.cage) before its kernel starts, so that whoever takes that over
reaches no more. Everything the process needs from the host is given up when it
ends, however it ends: its memory is a file without a name, and the stubs that
run the guest's programs die with it.
"""

import contextlib
import os
import queue
import re
import select
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import IO

from sandglass.agent.plan import Plan
from sandglass.cage import fork, seccomp
from sandglass.cage.cage import Cage
from sandglass.errors import SandglassError, UsageError
from sandglass.install import builds, elf
from sandglass.lab import crash, debugger, image, messages, processors, reports, touched
from sandglass.terminal import note

# Time and date when a lab boots: any, but always the same.
BOOT_TIME_NS = 1_700_000_000 * 10**9
VIRTUAL_TIME = ("time-travel=inf-cpu", f"time-travel-start={BOOT_TIME_NS}")
REAL_TIME = ("uptime=11",)
"""What the kernel is told of time where it keeps the host's: nobody waits for Open vSwitch, which
wants more than 10 s (agent/openvswitch.py)."""
SYSCALL_NS = 2000
BYTE_PS = 500
"""What a system call takes in virtual time, and each byte that it copies: of a small machine."""
WATCHDOG_S = 300
"""A lab that says nothing for this long, in real time, is taken to hang ($SANDGLASS_WATCHDOG)."""
ASKS_WHERE = signal.SIGFPE
"""Has the kernel stop and say where it was; none of its own code divides by zero or computes."""
LAST_WORDS_S = 10
PATIENCE_S = 60
"""How long a program of somebody's may let virtual time stand still ($SANDGLASS_WATCHDOG)."""
BEAT_S = 1.0
"""How often a lab that says nothing is looked at."""
QUIET_S = 15.0
"""After so long a silence a person is told of it."""
PIECE = 1 << 16
MOST_SAID = 1 << 26
"""Bytes: an experiment whose lab writes more than that to its console is ended."""
DEBUG_MEMORY = 3
"""How many times as much memory a lab needs when its kernel watches over it."""
FIRST_DOOR = 30  # the first of the file descriptors that a lab inherits
CPUINFO = Path("/proc/cpuinfo")
CODE = "/run/sandglass/code"
AGENT = "src/sandglass/agent/__main__.py"
BOOT = "src/sandglass/agent/boot.py"
GUESTS = ("src", "topologies", "workloads")
"""What a guest sees of this checkout."""
RUN = "/run/sandglass/run"
LAB = "/run/sandglass/lab"
STAMP = re.compile(rb"\[ *(\d+\.\d+)\]")  # of a message of the kernel, in seconds since its start

Progress = Callable[[float, float], None]


def clock(syscall_ns: int) -> tuple[str, ...]:
    """What the kernel is told of time for a program of somebody's; of 0, system calls take none."""
    cost = (f"syscall-cost={syscall_ns},{BYTE_PS}",) if syscall_ns else ()
    return (*VIRTUAL_TIME, *cost)


@dataclass(frozen=True)
class _Doors:
    """Directories of the host that a lab's hostfs mounts, each known by a number alone.

    The kernel stirs its command line into its random numbers, so that no path may stand there.
    The process inherits each directory as a file descriptor. Those before `run` the guest can only
    read (kernel/patches/*/0017).
    """

    guest: Path
    code: Path
    programs: Path
    further: Path | None
    """What a program of ours wants besides."""
    run: Path
    here: Path | None
    """What a program of somebody's may write to."""

    @classmethod
    def number(cls, name: str) -> int:
        """The file descriptor of one."""
        return FIRST_DOOR + [field.name for field in fields(cls)].index(name)

    def opened(self) -> dict[int, Path]:
        """Those that there are, by their numbers."""
        found = ((field.name, getattr(self, field.name)) for field in fields(self))
        return {self.number(name): path for name, path in found if path}

    def hostfs(self) -> str:
        """What hostfs is told of them."""
        first, last = self.number("run"), self.number("here")
        return f"hostfs=/proc/self/fd,ro={FIRST_DOOR}-{first - 1},rw={first}-{last}"


FURTHER, HERE = str(_Doors.number("further")), str(_Doors.number("here"))
"""What the guest calls two of them when it mounts them."""


def _cage(kernel: builds.LabKernel, doors: _Doors, folders: Iterable[str]) -> Cage:
    """What a lab may reach; of this checkout some folders."""
    return Cage(
        read=(
            kernel.linux,
            doors.guest,
            doors.programs,
            *(builds.ROOT / folder for folder in folders),
            *filter(None, [doors.further]),
            CPUINFO,
        ),
        write=(doors.run, *filter(None, [doors.here])),
        listed=(doors.code,),  # Python looks there for packages
        doors=doors.opened(),
        program=seccomp.lab_filter(),
    )


def _start(
    directory: Path,
    arguments: list[str],
    processor: int,
    pipe: int | None,
    *,
    folders: Iterable[str] = GUESTS,
    imaged: Path | None,
    memory_mb: int,
    seed: int,
    gdb: list[str] | None = None,
    zero_ns: int = 0,
    ipv6: bool = False,
    further: Path | None = None,
    here: Path | None = None,
) -> "subprocess.Popen[bytes]":
    """Start a lab, or gdb on one, if there are arguments of `gdb`; to it time begins at `zero_ns`.

    `folders` are what the guest sees of this checkout. Without `ipv6` no interface has an address
    of it by itself, and nothing is sent for it.
    """
    kernel = builds.lab_kernel()
    if elf.asks_for_libraries(kernel.linux):
        raise UsageError(
            f"the lab {kernel.lab} is of an older Sandglass: it wants libraries of this machine",
            "Run it by the Sandglass that it is of, whose commit the run names.",
        )
    doors = _Doors(kernel.init.parent, builds.ROOT, kernel.root, further, directory, here)
    command = [
        "linux",
        f"mem={memory_mb * (DEBUG_MEMORY if _debug() else 1)}M",
        doors.hostfs(),
        "root=/dev/root",
        "rootfstype=hostfs",
        f"rootflags={doors.number('guest')}",
        "ro",
        f"init=/{kernel.init.name}",
        f"rng-seed={seed}",
        f"ipv6.disable_ipv6={int(not ipv6)}",
        "norandmaps",
        "quiet",
        "con=null",
        "con0=fd:0,fd:1",
        "ssl=null",
        *_seccomp(),
        f"uml_dir=/proc/self/fd/{doors.number('run')}/",
        f"SANDGLASS_CODE={doors.number('code')}",
        f"SANDGLASS_LAB={doors.number('guest')}",
        f"SANDGLASS_PROGRAMS={doors.number('programs')}",
        f"SANDGLASS_RUN={doors.number('run')}",
        *arguments,
    ]

    environment = {"PATH": os.defpath, "HOME": "/"}
    cage = _cage(kernel, doors, folders)
    if imaged:
        # A copy: the guest can write there. Another door would show in the command line, and so in
        # random numbers.
        try:
            shutil.copyfile(imaged, directory / image.COPY)
        except OSError:  # a disk that is full: what the run itself cannot write there is told
            (directory / image.COPY).unlink(missing_ok=True)

    with cage.prepared(sealed=gdb is None) as enter:

        def in_child() -> None:
            """Only system calls: whatever lock another thread holds now, it keeps here for ever."""
            os.sched_setaffinity(0, {processor})
            enter()

        if gdb is not None:
            return debugger.start(kernel, command, environment, in_child, gdb, zero_ns)
        with fork.uninterrupted():
            return subprocess.Popen(
                command,
                executable=kernel.linux,
                env=environment,
                preexec_fn=in_child,  # noqa: PLW1509 it takes no lock
                close_fds=False,  # the cage has seen to it: the doors must stay
                stdin=pipe,
                stdout=pipe,
                stderr=subprocess.STDOUT if pipe else None,
            )


def _seccomp() -> list[str]:
    """Let programs stop at a seccomp filter, where the kernel can, which is faster than ptrace."""
    return [] if builds.traces(builds.chosen_kernel()) else ["seccomp=auto"]


def _debug() -> bool:
    return builds.is_debug(builds.chosen_kernel())


def _python(path: str, *arguments: str) -> list[str]:
    return ["/usr/bin/python3", "-SBsE", f"{CODE}/{BOOT}", f"{CODE}/{path}", *arguments]


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


def _image() -> Path | None:
    """What labs start out of. It may take a start of one: before there is a processor for that."""
    return image.found(
        builds.lab_kernel().root, lambda place: run_program(image.PROGRAM, place, imaged=False)
    )


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
    console, imaged = directory / "console.log", _image()
    # one in which somebody looks around keeps no other waiting
    last = contextlib.nullcontext(max(os.sched_getaffinity(0)))
    place = processors.taken() if gdb is None else last
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
            imaged=imaged,
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
            while (line := _heard(said, watchdog_s)) is not None:
                message = messages.read(line)
                if message is None:
                    log.write(_timed(line, plan["zero_ns"]))
                    if log.tell() > MOST_SAID:
                        raise SandglassError(
                            f"the lab has written more than {MOST_SAID >> 20} MB to its console",
                            "Let programs write to files below /tmp instead.",
                        )
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
            _end(process, directory)
            found = touched.clear(directory)
            console.touch()
    if failure:
        raise SandglassError(str(failure["message"]), failure["hint"])
    if done and (status == 0 or gdb is not None):
        touched.refuse(found)
        return
    raise _unfinished(console, status, watchdog_s)


NOT_TRACED = "check_ptrace"
"""What the kernel's own trial of ptrace is called where it fails."""
TOO_MANY_PIECES = "UML ran out of memory on the host side!"
"""Each page of a program that does not lie behind the last one is a mapping of the host's."""


def _unfinished(console: Path, status: int | None, watchdog_s: float | None) -> SandglassError:
    """What there is to say of a lab that ended early; a status of None: for its silence."""
    crashed = crash.read(console, builds.lab_kernel().symbols)
    if watchdog_s and status is None:
        return crash.hang(crashed, watchdog_s)
    if crashed:
        return crashed.error()
    said = console.read_text(errors="replace")
    if NOT_TRACED in said:
        other = builds.without_ptrace()
        return SandglassError(
            "this machine does not allow a process to trace its children, as this lab does",
            f"Linux {other} does without: SANDGLASS_KERNEL={other}. Else see: ./sandglass doctor",
        )
    if TOO_MANY_PIECES in said:
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
    further: Path | None = None,
    imaged: bool = True,
) -> None:
    """Boot a lab that runs one Python program of this checkout instead of an experiment.

    `clock` is what the kernel is told of time; without a word it keeps the host's, in real time.

    The program's argument is the guest's name for `directory`, the only place it can write to. It
    may mount `further`, by FURTHER, and read it. Its console goes to console.log there. Its modules
    come out of an image if it is to be `imaged`.

    Raises SandglassError with the end of the console when it fails or hangs.
    """
    console, out_of = directory / "console.log", _image() if imaged else None
    arguments = [*(clock or REAL_TIME), *(_watched if clock else _program)(path)]
    with processors.taken() as processor:
        process = _start(
            directory,
            arguments,
            processor,
            subprocess.PIPE,
            folders=["."],
            imaged=out_of,
            memory_mb=memory_mb,
            seed=seed,
            further=further,
        )
        # Python would close it, and the end of its input hangs a terminal up.
        typed, process.stdin = process.stdin, None
        try:
            said, _ = process.communicate(timeout=WATCHDOG_S)
        except subprocess.TimeoutExpired:
            raise SandglassError(f"{path} has not ended within {WATCHDOG_S} s") from None
        finally:
            process.stdin = typed
            _end(process, directory)
            touched.clear(directory)
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
    prompt: bool = False,
    silent: bool = False,
    patience_s: float = PATIENCE_S,
    here: Path | None = None,
    further: Path | None = None,
) -> int:
    """Boot a lab for one Python program of this checkout; returns the program's status.

    It may mount `here`, by HERE, and write to it, and `further`, by FURTHER, and read it. What it
    says is shown as it says it unless that is to be `silent`, or it has the terminal, for a prompt.
    `clock` is what the kernel is told of time; without a word it keeps the host's.

    Raises SandglassError when in virtual time nothing is said, nor the file `beat` in `directory`
    changed, for `patience_s`: time stands still.
    """
    patience = float(os.environ.get("SANDGLASS_WATCHDOG", patience_s)) if clock else None
    console, beat, imaged = directory / "console.log", directory / "beat", _image()
    # Of the kernel's own messages none is the program's but a panic.
    arguments = ["loglevel=1", *(clock or REAL_TIME), *_program(path)]
    pipe = None if prompt else subprocess.PIPE
    with processors.taken() as processor:
        process = _start(
            directory,
            arguments,
            processor,
            pipe,
            imaged=imaged,
            memory_mb=memory_mb,
            seed=seed,
            ipv6=True,
            further=further,
            here=here,
        )
        shown = None if silent else sys.stdout.buffer
        try:
            said = process.stdout
            ended = said is None or _shown(said, shown, console, beat, patience)
            if not ended and process.stdout:
                process.send_signal(ASKS_WHERE)
                _kept(process.stdout, console)
            status = process.wait() if ended else None
        finally:
            _end(process, directory)
            touched.clear(directory)
    symbols = builds.lab_kernel().symbols
    crashed = crash.read(console, symbols, crash.PROGRAM) if console.exists() else None
    if status is None and patience:
        raise crash.hang(crashed, patience)
    if crashed:
        raise crashed.error()
    return status or 0


def _shown(
    stream: IO[bytes],
    shown: IO[bytes] | None,
    console: Path,
    beat: Path,
    patience_s: float | None,
) -> bool:
    """Show what a lab says, if somebody is to see it, and keep it; returns whether it ended.

    Else it gave no sign of life for `patience_s`.
    """
    heard, told, last = time.monotonic(), False, 0
    with console.open("wb") as log:
        while True:
            if select.select([stream], [], [], BEAT_S)[0]:
                said = os.read(stream.fileno(), PIECE)
                if not said:
                    return True
                log.write(said)
                if shown:
                    shown.write(said)
                    shown.flush()
                heard, told = time.monotonic(), False
            with contextlib.suppress(OSError):
                if (beats := beat.lstat().st_mtime_ns) != last:
                    heard, told, last = time.monotonic(), False, beats
            silent_s = time.monotonic() - heard
            if patience_s and silent_s > patience_s:
                return False
            if patience_s and silent_s > QUIET_S and not told:
                told = True
                note(
                    f"virtual time stands still for {QUIET_S:.0f} s: "
                    f"waiting up to {patience_s:.0f} s"
                )


def _kept(stream: IO[bytes], console: Path) -> None:
    """Keep the last words of a lab."""
    with console.open("ab") as log:
        while select.select([stream], [], [], LAST_WORDS_S)[0]:
            said = os.read(stream.fileno(), PIECE)
            if not said:
                return
            log.write(said)


def _heard(said: "queue.SimpleQueue[bytes | None]", watchdog_s: float | None) -> bytes | None:
    """The next line of a lab; a person is told when it does not come soon.

    Raises queue.Empty when it does not come at all.
    """
    if watchdog_s is None or watchdog_s <= QUIET_S:
        return said.get(timeout=watchdog_s)
    try:
        return said.get(timeout=QUIET_S)
    except queue.Empty:
        note(f"the lab has said nothing for {QUIET_S:.0f} s: waiting up to {watchdog_s:.0f} s")
        return said.get(timeout=watchdog_s - QUIET_S)


def _read(stream: object, said: "queue.SimpleQueue[bytes | None]") -> None:
    for line in stream:  # type: ignore[attr-defined]
        said.put(line)
    said.put(None)


def _timed(line: bytes, zero_ns: int) -> bytes:
    """A line of the console; the kernel's messages get the time of the experiment."""
    if stamped := STAMP.match(line):
        return b"[%13.6f]" % (float(stamped[1]) - zero_ns / 1e9) + line[stamped.end() :]
    return line


def _end(process: "subprocess.Popen[bytes]", directory: Path) -> None:
    (directory / image.COPY).unlink(missing_ok=True)
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
    imaged = _image()
    with processors.taken() as processor:
        process = _start(
            directory,
            _program(AGENT, "shell", "lab", LAB),
            processor,
            None if typed else subprocess.PIPE,
            imaged=imaged,
            memory_mb=plan["memory_mb"],
            seed=plan["seed"],
        )
        try:
            for line in process.stdout or ():
                sys.stdout.buffer.write(line)
                sys.stdout.buffer.flush()
            return process.wait()
        finally:
            _end(process, directory)
