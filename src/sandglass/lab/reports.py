"""What the kernel of a debug lab has found wrong, as its console tells."""

import contextlib
import re
from collections.abc import Iterator
from pathlib import Path

from sandglass.errors import SandglassError
from sandglass.lab import crash

HEADINGS = (
    r"BUG:? ",  # of KASAN, SLUB, locks, the scheduler, and of the search for leaks
    r"WARNING: ",  # of WARN_ON(), lockdep and RCU
    r"INFO: ",  # of lockdep and RCU
    r"UBSAN: ",
    r"ODEBUG: ",
    r"list_(add|del) corruption",
    r"ref_tracker: ",
    r"unregister_netdevice: waiting for ",
)
SAID = re.compile(r"^\[ *-?\d+\.\d+\] ?(.*)$", re.M)
"""A line of the kernel's, which tells the time; programs write to the console too."""
HEADING = re.compile("|".join(HEADINGS))
SAYS_LITTLE = (
    r"[-= ]*$",
    r"[\da-f ]+$|  hex dump|    ([\da-f]{2} ){16}",  # raw memory
    r"CPU: |Tainted: |Modules linked in: |\d+\.\d+\.\d+-",
    r"other info|rcu_scheduler_active|\d+ locks held| #\d+: |irq event stamp|\w+irqs last",
    r"Stack:|Call Trace:|stack backtrace:|.* \? ",  # with '?': perhaps left over from earlier calls
    r".*\b_*(show_stack|dump_stack|save_stack|stack_trace|save_trace|set_track)",
    r".*\b_*(print_report|kasan_|asan_|ubsan_|warn|lockdep_|kmemleak_|(create|alloc)_object)",
)
"""Lines of a report that are left out of a message, the checkers' own frames among them."""
SKIPPED = re.compile("|".join(SAYS_LITTLE))
EXPECTED = re.compile(r"WARNING: .*\binclude/net/sch_generic\.h:\d+ (at )?\w+_dump_stats\b")
"""The recorder asks qdiscs for their statistics from a timer, which cannot hold RTNL; those that
lock the tree for it say so once (kmods/recorder/recorder.c, recorder_copy_xstats). Linux 6.12 names
the processor before the place, 7.2 behind it."""
QUOTED_LINES = 12


@contextlib.contextmanager
def looked_for(console: Path, symbols: Path) -> Iterator[None]:
    """Fail when the kernel has reported something by the end of the block, however that ends.

    Raises SandglassError with the first report; what it brought about matters less.
    """
    try:
        yield
    except SandglassError:
        fail_on_report(console, symbols)
        raise
    fail_on_report(console, symbols)


def fail_on_report(console: Path, symbols: Path) -> None:
    """Raises SandglassError with the first report on a console, when there is one.

    Args:
        symbols: a directory of modules with a debugger's symbols, which name file and line.
    """
    lines = SAID.findall(console.read_text(errors="replace"))
    headings = [
        number
        for number, line in enumerate(lines)
        if HEADING.match(line) and not EXPECTED.match(line)
    ]
    if headings:
        first, *others = headings
        report = [line for line in lines[first + 1 :] if not SKIPPED.match(line)]
        also = f" (and {len(others)} more)" if others else ""
        raise SandglassError(
            f"the kernel reports {lines[first]}{also}",
            "\n".join(crash.located(line, symbols) for line in report[:QUOTED_LINES]),
        )
