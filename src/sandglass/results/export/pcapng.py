"""A run as a capture that Wireshark opens: pcapng, with times in nanoseconds.

The format is that of draft-ietf-opsawg-pcapng.
"""

import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from sandglass import __version__
from sandglass.results.export import capture, headers
from sandglass.results.export.point import Point
from sandglass.results.export.whole import whole_file
from sandglass.results.series import Run

SECTION, INTERFACE, NAMES, PACKET = 0x0A0D0D0A, 1, 4, 6
BYTE_ORDER = 0x1A2B3C4D
ETHERNET = 1
END, COMMENT = 0, 1
APPLICATION = 4
NAME, DESCRIPTION, SPEED, RESOLUTION = 2, 3, 8, 9
NANOSECONDS = 9
IPV4_NAME, IPV6_NAME = 1, 2
FRAMES_AT_ONCE = 50_000
ABOUT = (
    "Made from Sandglass's records of {title}, seed {seed}, digest {digest}. Time 0 is the start "
    "of the experiment. Hardware addresses are made up"
)
RECORDED = "; all other headers are as they were sent."
REBUILT = (
    ", and so are hop limits, windows, TCP's options and checksums: record: [packets, headers] has "
    "the real ones."
)


def write(run: Run, file: Path, point: Point) -> int:
    """Write the run's packets to a file, whole or not at all; returns how many frames it has.

    Raises SandglassError when the run did not record packets.
    """
    frames = capture.frames(run, point)
    with whole_file(file) as target:
        target.write(section(run))
        for row in capture.interfaces(run, point).iter_rows(named=True):
            target.write(interface(row))
        known = headers.addresses(run.field("observed.hosts"))
        target.write(names(known))
        for part in frames.iter_slices(FRAMES_AT_ONCE):
            target.write(packets(part, known))
    return len(frames)


def block(kind: int, body: bytes) -> bytes:
    """A block of the file: its kind and length, body, and length again."""
    length = 12 + len(body)
    return struct.pack("<II", kind, length) + body + struct.pack("<I", length)


def options(*given: tuple[int, bytes]) -> bytes:
    """A list of options by their codes, each filled up to 32 bits, and its end."""
    listed = [struct.pack("<HH", code, len(value)) + _padded(value) for code, value in given]
    return b"".join(listed) + struct.pack("<HH", END, 0)


def _padded(value: bytes) -> bytes:
    return value + bytes(-len(value) % 4)


def section(run: Run) -> bytes:
    """The head of the file: what it is, of which run."""
    told = ABOUT.format_map(run.document) + (RECORDED if "headers" in run.tables else REBUILT)
    return block(
        SECTION,
        struct.pack("<IHHq", BYTE_ORDER, 1, 0, -1)
        + options((COMMENT, told.encode()), (APPLICATION, f"Sandglass {__version__}".encode())),
    )


def interface(row: Mapping[str, Any]) -> bytes:
    """Tells of an interface, as capture.interfaces has it; no length limits what is captured."""
    return block(
        INTERFACE,
        struct.pack("<HHI", ETHERNET, 0, 0)
        + options(
            (NAME, row["name"].encode()),
            (DESCRIPTION, row["description"].encode()),
            (SPEED, struct.pack("<Q", row["rate_bps"])),
            (RESOLUTION, bytes([NANOSECONDS])),
        ),
    )


def names(known: Mapping[str, headers.Address]) -> bytes:
    """What the hosts are called, for programs that resolve addresses."""
    records = [
        (kind, address[version].tobytes() + name.encode() + b"\0")
        for name, address in known.items()
        for kind, version in ((IPV4_NAME, 4), (IPV6_NAME, 6))
    ]
    return block(NAMES, options(*records) + options())


def packets(frames: pl.DataFrame, known: Mapping[str, headers.Address]) -> bytes:
    """A block for each frame: its headers as far as they are known, and a comment.

    All blocks are one table of bytes, of which each has its own part.
    """
    data, captured = headers.build(frames, known)
    comment = np.array([text.encode() for text in frames["comment"].to_list()])
    octets = comment.view(np.uint8).reshape(len(frames), -1)
    octets = np.pad(octets, ((0, 0), (0, -octets.shape[1] % 4)))
    said = np.char.str_len(comment)
    data_length, comment_length = _up(captured), _up(said)
    total = 40 + data_length + comment_length
    time = frames["time_ns"].to_numpy()
    size = frames["size_bytes"].to_numpy()
    number = frames["interface"].to_numpy()
    head = _row("<u4", PACKET, total, number, time >> 32, time & 0xFFFFFFFF, captured, size)
    about = _row("<u2", np.full_like(said, COMMENT), said)
    tail = _row("<u4", np.zeros_like(total), total)
    everything = np.hstack([head, data, about, octets, tail])
    taken = np.hstack(
        [
            np.ones(head.shape, bool),
            np.arange(data.shape[1]) < data_length[:, None],
            np.ones(about.shape, bool),
            np.arange(octets.shape[1]) < comment_length[:, None],
            np.ones(tail.shape, bool),
        ]
    )
    return bytes(everything[taken])


def _up(length: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """The next multiple of 4."""
    return (length + 3) // 4 * 4


def _row(dtype: str, *columns: Any) -> npt.NDArray[np.uint8]:
    """Numbers of each frame one after the other, as bytes."""
    numbers = np.column_stack(np.broadcast_arrays(*columns)).astype(dtype)
    return np.ascontiguousarray(numbers).view(np.uint8)
