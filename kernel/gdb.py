"""What gdb has to know of a lab: its modules, its time, and the signals that it lives by.

`./sandglass debug` starts gdb with this script, on a lab that has not begun yet. $SANDGLASS_SYMBOLS
is the directory of the modules' files, $SANDGLASS_ZERO_NS the lab's time when an experiment starts.
"""

import os
import re
import subprocess
from pathlib import Path

import gdb

SYMBOLS = Path(os.environ["SANDGLASS_SYMBOLS"])
ZERO_NS = int(os.environ["SANDGLASS_ZERO_NS"])
# User-Mode Linux's own: page faults of its programs and of the kernel's copies, interrupts, timers.
# A fault that is one ends in panic().
OWN_SIGNALS = "SIGSEGV SIGIO SIGALRM SIGUSR1 SIGUSR2 SIGWINCH SIGCHLD SIGFPE"
NAME_OFFSET = 24  # of a module's name in struct module, after its state and its list_head


def seconds() -> float:
    """The experiment's time."""
    now = gdb.parse_and_eval("*(unsigned long long *) &time_travel_time")
    return (int(now) - ZERO_NS) / 1e9


class Seconds(gdb.Function):
    """$seconds(): the experiment's time, for conditions such as `break f if $seconds() > 2`."""

    def __init__(self) -> None:
        super().__init__("seconds")

    def invoke(self) -> float:
        return seconds()


class ModuleLoaded(gdb.Breakpoint):
    """Loads the symbols of a module when the kernel has it in place, before its init runs."""

    def __init__(self) -> None:
        super().__init__("do_init_module", internal=True)

    def stop(self) -> bool:
        address = int(gdb.parse_and_eval("$rdi"))
        name = gdb.parse_and_eval(f"(char *) {address + NAME_OFFSET}").string()
        file = SYMBOLS / f"{name}.ko"
        if file.is_file():
            # Its own symbols know the layout of struct module, the kernel's do not.
            gdb.execute(f"add-symbol-file {file} -o 0", to_string=True)
            module = gdb.parse_and_eval(f"*(struct module *) {address}")
            sections, text = placed(file, module), module["mem"][0]
            begin, size = int(text["base"]), int(text["size"])
            # The memory of modules is shared with the lab's programs while these start, and gdb
            # takes its breakpoints out of theirs; what is read-only gets a processor's own.
            gdb.execute(f"mem {begin:#x} {begin + size:#x} ro")
            gdb.execute(f"remove-symbol-file {file}", to_string=True)
            places = " ".join(f"-s {section} {place:#x}" for section, place in sections.items())
            gdb.execute(f"add-symbol-file {file} {places}", to_string=True)
        return False


def placed(file: Path, module: gdb.Value) -> dict[str, int]:
    """Where the kernel has put the sections of a module.

    Told from a symbol of each: the kernel's table has its address, the file its distance from the
    section's begin.
    """
    table = module["kallsyms"].dereference()
    strings = int(table["strtab"])
    addresses = {}
    for number in range(1, int(table["num_symtab"])):
        symbol = table["symtab"][number]
        name = gdb.parse_and_eval(f"(char *) {strings + int(symbol['st_name'])}").string()
        addresses[name] = int(symbol["st_value"])
    sections: dict[str, int] = {}
    for line in subprocess.check_output(["nm", "-f", "sysv", file], text=True).splitlines():
        fields = [field.strip() for field in line.split("|")]
        if len(fields) == 7 and re.match(r"\.(init\.)?(text|data|rodata|bss)", fields[6]):
            name, value, section = fields[0], int(fields[1], 16), fields[6]
            if name in addresses:
                sections.setdefault(section, addresses[name] - value)
    return sections


def tell_time(event: gdb.StopEvent) -> None:
    """Say when in the experiment the lab has stopped."""
    gdb.write(f"{seconds():.9f} s into the experiment\n")


gdb.execute("maint set bfd-sharing off")  # else a file that is added again stays where it was
gdb.execute("set breakpoint pending on")
gdb.execute("set mem inaccessible-by-default off")
gdb.execute("set filename-display absolute")  # as source_places() has it, not as compiled
gdb.execute("set libthread-db-search-path /dev/null")  # its process has no threads
gdb.execute("set print inferior-events off")  # each program of the lab is a process
gdb.execute(f"handle {OWN_SIGNALS} nostop noprint pass", to_string=True)
gdb.execute("break panic", to_string=True)
ModuleLoaded()
Seconds()
gdb.events.stop.connect(tell_time)
