"""A cage: the files that a process may reach, and what holds it to them.

The first of LAYERS that the machine has is taken. All of them come with a filter of system calls,
without sockets, and with root's privileges given up but for those over files.
"""

import contextlib
import fcntl
import functools
import os
import resource
import signal
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from sandglass.cage import landlock, namespaces, seccomp
from sandglass.cage import system_calls as system
from sandglass.errors import SandglassError, UsageError

Layer = Literal["landlock", "namespaces", "landlock-files", "none"]
LAYERS: tuple[Layer, ...] = ("landlock", "namespaces", "landlock-files", "none")
"""What holds a process, the best first: landlock-files lets it send signals to others."""
CHOICE, REQUIRED = "SANDGLASS_SANDBOX", "SANDGLASS_REQUIRE_SANDBOX"
CAP_DAC_OVERRIDE, CAP_FOWNER = 1, 3  # <linux/capability.h>: root's over files of others
LIBRARIES = tuple(
    map(Path, ("/lib", "/lib64", "/usr/lib", "/usr/lib64", "/nix/store", "/gnu/store",
               "/etc/ld.so.cache"))
)  # fmt: skip
"""Where a machine has the libraries of its programs: what runs one of them has to read these."""


@functools.cache
def layer() -> Layer:
    """What holds processes on this machine: the best there is, or what $SANDGLASS_SANDBOX names.

    Raises UsageError when it names none, SandglassError when it is not to be had here or, with
    $SANDGLASS_REQUIRE_SANDBOX, does not hold all.
    """
    chosen = os.environ.get(CHOICE)
    if chosen and chosen not in LAYERS:
        raise UsageError(f"{CHOICE}: there is no {chosen}", f"It is one of {', '.join(LAYERS)}.")
    found = next((each for each in LAYERS if chosen in (None, "", each) and there(each)), None)
    if found is None:
        raise SandglassError(f"{CHOICE}: this machine has no {chosen}", "See docs/security.md.")
    if os.environ.get(REQUIRED) and not holds(found):
        raise SandglassError(
            "nothing on this machine keeps what runs in a lab from everything else",
            "It wants Linux 6.12 with Landlock, or a kernel that allows namespaces to its users.\n"
            "docs/security.md says what each of them does.",
        )
    return found


def holds(found: Layer) -> bool:
    """Whether a layer keeps a process from files, network and processes outside."""
    return found in {"landlock", "namespaces"}


def there(each: Layer) -> bool:
    """Whether this machine has a layer."""
    if each == "landlock":
        return landlock.seals_signals(landlock.version())
    if each == "landlock-files":
        return landlock.version() > 0
    return each == "none" or namespaces.available()


@dataclass(frozen=True)
class Cage:
    """What a process may reach."""

    read: tuple[Path, ...] = ()
    """Files and directories, absolute, of which some need not be there; programs may be run."""
    write: tuple[Path, ...] = ()
    listed: tuple[Path, ...] = ()
    """Directories whose names it may read, and of those below them, but no file."""
    doors: Mapping[int, Path] = field(default_factory=dict)
    """Directories that it inherits as descriptors, by their numbers."""
    program: bytes = b""
    """A filter of seccomp."""

    @contextlib.contextmanager
    def prepared(self, *, sealed: bool = True) -> Iterator[Callable[[], None]]:
        """What a child calls between fork and exec, as long as the block lasts.

        After it nothing but these files can be opened, for good. It only hands over the doors where
        it is not to be `sealed`, for a debugger.

        Raises SandglassError when the machine cannot do it, and it is required.
        """
        parent = os.getpid()
        if not sealed:
            if os.environ.get(REQUIRED):
                raise UsageError(
                    "a debugger's lab is not sealed", "Leave out --require-sandbox, or --gdb."
                )

            def hand_over() -> None:
                _die_with(parent)
                self._open_doors()

            yield hand_over
            return
        chosen = layer()
        rules = None
        if chosen in {"landlock", "landlock-files"}:
            made = landlock.ruleset(self.read, self.write, self.listed)
            rules = fcntl.fcntl(made, fcntl.F_DUPFD_CLOEXEC, self._above)  # no door's number
            os.close(made)

        def enter() -> None:
            _die_with(parent)
            if chosen == "namespaces":
                namespaces.enter(self.read, self.write)
            _keep_open_for_itself()
            self._open_doors()
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            if os.geteuid() == 0 or chosen == "namespaces":
                system.keep_capabilities(CAP_DAC_OVERRIDE, CAP_FOWNER)
            system.prctl(system.PR_SET_NO_NEW_PRIVS, 1)
            if rules is not None:
                landlock.restrict(rules)
            if self.program:
                seccomp.confine(self.program)

        try:
            yield enter
        finally:
            if rules is not None:
                os.close(rules)

    @property
    def _above(self) -> int:
        return 1 + max(self.doors, default=0)

    def _open_doors(self) -> None:
        """Give the doors their numbers."""
        opened = {}
        for number, path in self.doors.items():
            handle = os.open(path, os.O_PATH | os.O_DIRECTORY)
            while handle < self._above:  # it may have a number that another is to have
                handle = os.dup(handle)
            opened[number] = handle
        for number, handle in opened.items():
            os.dup2(handle, number)


def _die_with(parent: int) -> None:
    system.prctl(system.PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # it died before it could be told
        os._exit(1)


def _keep_open_for_itself() -> None:
    """Let nothing that is open be inherited, besides 0, 1 and 2."""
    for name in os.listdir("/proc/self/fd"):
        if int(name) > 2:
            with contextlib.suppress(OSError):  # that of the listing itself
                os.set_inheritable(int(name), False)
