"""Programs as Linux starts them: the headers of an ELF file of 64 bits (<elf.h>)."""

import struct
from pathlib import Path

HEAD = 4096
"""Bytes that hold the file's header and those of its segments."""
PT_DYNAMIC, PT_INTERP = 2, 3


def asks_for_libraries(program: Path) -> bool:
    """Whether a program is put together with libraries of the machine when it starts."""
    with program.open("rb") as file:
        head = file.read(HEAD)
    (start,) = struct.unpack_from("<Q", head, 0x20)
    size, count = struct.unpack_from("<HH", head, 0x36)
    kinds = {struct.unpack_from("<I", head, start + number * size)[0] for number in range(count)}
    return not kinds.isdisjoint({PT_DYNAMIC, PT_INTERP})
