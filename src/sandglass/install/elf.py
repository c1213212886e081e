"""Programs as Linux starts them: the headers of an ELF file of 64 bits (<elf.h>)."""

import mmap
import struct
from dataclasses import dataclass, field
from pathlib import Path

MAGIC = b"\x7fELF"
PT_LOAD, PT_DYNAMIC, PT_INTERP = 1, 2, 3
ET_REL, EM_X86_64 = 1, 62
MACHINES = {3: "i386", 8: "MIPS", 20: "PowerPC", 21: "PowerPC", 22: "S/390", 40: "ARM"}
MACHINES |= {62: "x86-64", 183: "AArch64", 243: "RISC-V", 258: "LoongArch"}
DT_NEEDED, DT_STRTAB, DT_SONAME, DT_RPATH, DT_RUNPATH = 1, 5, 14, 15, 29
DT_VERDEF, DT_VERNEED = 0x6FFFFFFC, 0x6FFFFFFE
VER_FLG_WEAK = 2
MOST = 10_000
"""Entries of one table: more has no file that somebody linked."""
LONGEST = 4096
"""Bytes of a name."""


class ElfError(Exception):
    """A file that is none, or one that is damaged."""


@dataclass(frozen=True)
class Needed:
    """A version of symbols that an object asks a library for."""

    library: str
    version: str


@dataclass
class Elf:
    """What the loader reads of a program or a library."""

    machine: str
    bits: int
    relocatable: bool
    """Whether it has not been linked yet."""
    interpreter: str | None = None
    dynamic: bool = False
    needed: list[str] = field(default_factory=list)
    soname: str | None = None
    rpath: str | None = None
    runpath: str | None = None
    wants: list[Needed] = field(default_factory=list)
    """The versions that it cannot do without."""
    defines: set[str] = field(default_factory=set)
    """The versions that it has."""

    @property
    def is_of_the_lab(self) -> bool:
        """Whether the lab's kernel starts what is built for such a machine."""
        return self.machine == MACHINES[EM_X86_64] and self.bits == 64


def asks_for_libraries(program: Path) -> bool:
    """Whether a program is put together with libraries of the machine when it starts."""
    found = read(program)
    return found.dynamic or found.interpreter is not None


def read(path: Path) -> Elf:
    """What is in a file's headers and its dynamic section. Raises ElfError, and OSError."""
    with path.open("rb") as file:
        if file.read(len(MAGIC)) != MAGIC:
            raise ElfError("is no ELF file")
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
            try:
                return _read(content)
            except (struct.error, IndexError, ValueError):
                raise ElfError("is a damaged ELF file") from None


def _read(content: mmap.mmap) -> Elf:
    bits, order = content[4] * 32, "<" if content[5] == 1 else ">"
    kind, machine = struct.unpack_from(f"{order}HH", content, 0x10)
    found = Elf(MACHINES.get(machine, f"machine {machine}"), bits, kind == ET_REL)
    if not found.is_of_the_lab or order != "<":
        return found
    (start,) = struct.unpack_from("<Q", content, 0x20)
    size, count = struct.unpack_from("<HH", content, 0x36)
    loads: list[tuple[int, int, int]] = []
    dynamic = b""
    for number in range(count):
        segment, _, offset, address, _, length = struct.unpack_from(
            "<IIQQQQ", content, start + number * size
        )
        if segment == PT_LOAD:
            loads.append((address, offset, length))
        elif segment == PT_INTERP:
            found.interpreter = _text(content, offset)
        elif segment == PT_DYNAMIC:
            found.dynamic, dynamic = True, content[offset : offset + length]
    if dynamic:
        _read_dynamic(content, dynamic, loads, found)
    return found


def _read_dynamic(
    content: mmap.mmap, dynamic: bytes, loads: list[tuple[int, int, int]], found: Elf
) -> None:
    entries = [
        (tag, value)
        for tag, value in struct.iter_unpack("<qQ", dynamic[: len(dynamic) // 16 * 16])
        if tag
    ]
    by_tag = dict(entries)

    def place(address: int) -> int:
        for first, offset, length in loads:
            if first <= address < first + length:
                return address - first + offset
        raise ValueError(address)

    if DT_STRTAB not in by_tag:
        return
    strings = place(by_tag[DT_STRTAB])

    def text(at: int) -> str:
        return _text(content, strings + at)

    found.needed = [text(value) for tag, value in entries if tag == DT_NEEDED]
    found.soname = text(by_tag[DT_SONAME]) if DT_SONAME in by_tag else None
    found.rpath = text(by_tag[DT_RPATH]) if DT_RPATH in by_tag else None
    found.runpath = text(by_tag[DT_RUNPATH]) if DT_RUNPATH in by_tag else None
    if DT_VERNEED in by_tag:
        at = place(by_tag[DT_VERNEED])
        for _ in range(MOST):
            _, count, library, first, after = struct.unpack_from("<HHIII", content, at)
            inner = at + first
            for _ in range(count):
                _, flags, _, name, step = struct.unpack_from("<IHHII", content, inner)
                if not flags & VER_FLG_WEAK:
                    found.wants.append(Needed(text(library), text(name)))
                inner += step
            if not after:
                break
            at += after
    if DT_VERDEF in by_tag:
        at = place(by_tag[DT_VERDEF])
        for _ in range(MOST):
            _, _, _, _, _, first, after = struct.unpack_from("<HHHHIII", content, at)
            (name,) = struct.unpack_from("<I", content, at + first)
            found.defines.add(text(name))
            if not after:
                break
            at += after


def _text(content: mmap.mmap, at: int) -> str:
    text, end, _ = content[at : at + LONGEST].partition(b"\0")
    if not end:
        raise ValueError(at)
    return text.decode()
