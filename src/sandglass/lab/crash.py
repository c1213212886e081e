"""Where the lab's kernel was when it stopped: its call trace, in the files that an author edits."""

import re
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from sandglass.errors import SandglassError
from sandglass.install import builds

PLACE = r"(?P<function>[\w.]+)\+0x(?P<offset>[0-9a-f]+)/0x[0-9a-f]+(?: \[(?P<module>\w+)\])?"
"""As the kernel prints an address (%pS)."""
STACK = re.compile(r"\[ *[-\d.]+\]  ([0-9a-f]{8,}) ")
"""Its words, from the top."""
TRACED = re.compile(rf"\[<(?P<address>[0-9a-f]+)>\] (?P<doubtful>\? )?{PLACE}$")
PANIC = re.compile(r"^\[ *(?P<time>[-\d.]+)\] Kernel panic - not syncing: (?P<reason>.*)$", re.M)
STOPPED = re.compile(rf"ip {PLACE}$")
POINTER = re.compile(r"at addr 0x([0-9a-f]+),")
PROCESS = re.compile(r"\] CPU: .* Comm: (?P<name>.+?) (?:Not tainted|Tainted)")
LEAST_ADDRESS = 4096  # below, it is a NULL pointer's member
CALLERS_SHOWN = 4
WAITS = frozenset(["__wait4", "syscall"])
"""Of the root's C library, which is in the kernel: there it waits for the guest's program."""
RECLAIM = frozenset(["try_to_free_pages", "shrink_node", "shrink_slab", "balance_pgdat"])
"""Where a kernel without memory looks for some, for ever: no virtual time passes meanwhile
(mm/vmscan.c)."""


class Work(NamedTuple):
    """What a lab is there for, in words about its end."""

    begun: str
    """What its time counts from, behind a number of seconds."""
    more: str
    """How to give it more memory."""


EXPERIMENT = Work("into the experiment", "More of it: `memory: 2GB` in the experiment.")
PROGRAM = Work("after the lab's start", "More of it: the option --memory 2048.")


@dataclass(frozen=True)
class Frame:
    """A function that was at work."""

    function: str
    source: str | None
    """FILE:LINE, known of the modules only."""

    def __str__(self) -> str:
        return f"{self.function} ({self.source})" if self.source else self.function


@dataclass(frozen=True)
class Crash:
    """What a panic told."""

    work: Work
    time_s: float
    """Of an experiment from its start, else of the lab."""
    reason: str
    process: str
    """The program that ran, or for whom the kernel did."""
    frames: list[Frame]
    """Innermost first."""
    in_kernel: bool
    """Whether the kernel's own code was at work; else it waited for the program, or was lost."""

    def error(self) -> SandglassError:
        """What there is to say of a panic."""
        where = f" in {self.frames[0]}" if self.frames else ""
        return SandglassError(f"{self.reason}{where}, {self.when}", self._callers(0))

    def loop(self) -> tuple[str, str]:
        """What there is to say of a kernel that was asked where it is: a clause, and a hint."""
        if not self.in_kernel:
            hint = (
                f"The program {self.process} may wait in a busy loop, which stops virtual time.\n"
                "Or programs want more memory than there is, and fetch each other's away. "
                f"{self.work.more}"
            )
            return self.when, hint
        if any(frame.function in RECLAIM for frame in self.frames):
            return f"it has no memory left, {self.when}", self.work.more
        own = next((n for n, frame in enumerate(self.frames) if frame.source), 0)
        return f"its kernel loops in {self.frames[own]}, {self.when}", self._callers(own)

    @property
    def when(self) -> str:
        """When it was, in words."""
        if self.time_s < 0:
            return "before the experiment began"
        return f"{self.time_s:.6f} s {self.work.begun}"

    def _callers(self, number: int) -> str:
        callers = self.frames[number + 1 :]
        lines = [f"called from {frame}" for frame in callers[:CALLERS_SHOWN]]
        if len(callers) > CALLERS_SHOWN:
            lines.append(f"and {len(callers) - CALLERS_SHOWN} more, which are in the console")
        return "\n".join(lines)


def read(console: Path, symbols: Path, work: Work = EXPERIMENT) -> Crash | None:
    """What a panic told on a console; None when there was none.

    Each line of the console that names a place in a module gets its file and line.

    Args:
        symbols: a directory of modules with a debugger's symbols.
    """
    lines = console.read_text(errors="replace").splitlines()
    panic = next((match for line in lines if (match := PANIC.match(line))), None)
    if panic is None:
        return None
    stopped = STOPPED.search(panic["reason"])
    frames = [_frame(stopped, symbols, called=False)] if stopped else []
    # what a function that keeps no frame has on top of the stack is where it returns to
    top = next((match[1] for match in map(STACK.match, lines) if match), None)
    for found in filter(None, map(TRACED.search, lines)):
        if found["address"] == top or not found["doubtful"]:
            frames.append(_frame(found, symbols, called=True))
        top = None
    lines = [located(line, symbols) for line in lines]
    console.write_text("\n".join(lines) + "\n")
    process = next((match["name"] for line in lines if (match := PROCESS.search(line))), "")
    reason = _reason(panic["reason"])
    time_s = float(panic["time"])
    in_kernel = stopped is not None and stopped["function"] not in WAITS
    return Crash(work, time_s, reason, process, frames, in_kernel)


def located(line: str, symbols: Path) -> str:
    """A line of the console; one that names a place in a module gets its file and line."""
    found = TRACED.search(line)
    source = _frame(found, symbols, called=True).source if found else None
    return f"{line} ({source})" if source else line


def hang(crashed: Crash | None, silent_s: float) -> SandglassError:
    """What there is to say of a lab that was ended for its silence."""
    said = f"the lab has said nothing for {silent_s:.0f} s and was ended"
    if crashed is None:
        return SandglassError(said)
    where, hint = crashed.loop()
    return SandglassError(f"{said}: {where}", hint)


def _reason(said: str) -> str:
    """The kernel's words for a panic, or ours where they are about pointers."""
    if not (pointer := POINTER.search(said)):
        return said
    address = int(pointer[1], 16)
    return "a NULL pointer" if address < LEAST_ADDRESS else f"a wrong pointer (0x{address:x})"


def _frame(found: re.Match[str], symbols: Path, *, called: bool) -> Frame:
    """The frame that the kernel printed; `called` says that the address is where a call returns."""
    source = None
    module = symbols / f"{found['module']}.ko"
    if found["module"] and module.is_file():
        source = _source(module, found["function"], int(found["offset"], 16) - called)
    return Frame(found["function"], source)


def _source(module: Path, function: str, offset: int) -> str | None:
    """FILE:LINE of a place in a module, in its own source even where that calls inline functions.

    None without the tools that compilers bring.
    """
    try:
        listed = subprocess.check_output(["nm", "-f", "sysv", module], text=True)
        for line in listed.splitlines():
            name, value, _, kind, _, _, section = (f"{line}||||||".split("|"))[:7]
            if name.strip() == function and kind.strip() == "FUNC":
                address = hex(int(value, 16) + offset)
                command = ("addr2line", "-i", "-e", str(module), "-j", section.strip(), address)
                places = subprocess.check_output(command, text=True).split("\n")
                return next(filter(None, map(_own, places)), None)
    except (FileNotFoundError, subprocess.CalledProcessError):
        pass
    return None


def _own(place: str) -> str | None:
    """FILE:LINE as the author knows it, if the file is a module's."""
    file, _, line = place.partition(" ")[0].rpartition(":")
    sources = {f"{builds.DEBUG_ROOT}/{builds.placed(p)}": p for p in builds.module_sources()}
    return f"{sources[file]}:{line}" if file in sources else None
