"""Reads pcapng and the headers of its frames, by the formats' texts and nothing of ours."""

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address
from pathlib import Path


@dataclass(frozen=True)
class Frame:
    """An enhanced packet block."""

    interface: int
    time_ns: int
    data: bytes
    size: int
    comment: str


@dataclass(frozen=True)
class Capture:
    """A file: names of interfaces, names of hosts by address, frames."""

    interfaces: list[str]
    hosts: dict[str, str]
    frames: list[Frame]


def blocks(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Kind and body of each block; every length stands there twice."""
    at = 0
    while at < len(data):
        kind, length = struct.unpack_from("<II", data, at)
        assert length % 4 == 0
        assert struct.unpack_from("<I", data, at + length - 4) == (length,)
        yield kind, data[at + 8 : at + length - 4]
        at += length
    assert at == len(data)


def options(body: bytes) -> list[tuple[int, bytes]]:
    """A list of options, up to its end."""
    found: list[tuple[int, bytes]] = []
    at = 0
    while at < len(body):
        code, length = struct.unpack_from("<HH", body, at)
        if code == 0:
            return found
        found.append((code, body[at + 4 : at + 4 + length]))
        at += 4 + (length + 3) // 4 * 4
    raise AssertionError("the list has no end")


def read(path: Path) -> Capture:
    """A file, which begins with a section of this byte order and version 1.0."""
    [(section, head), *rest] = blocks(path.read_bytes())
    assert section == 0x0A0D0D0A
    assert struct.unpack_from("<IHH", head) == (0x1A2B3C4D, 1, 0)
    capture = Capture([], {}, [])
    for kind, body in rest:
        if kind == 1:
            assert struct.unpack_from("<HHI", body) == (1, 0, 0)  # Ethernet, no limit
            about = dict(options(body[8:]))
            assert about[9] == b"\x09"  # nanoseconds
            capture.interfaces.append(about[2].decode())
        elif kind == 4:
            for family, record in options(body):
                width = {1: 4, 2: 16}[family]
                address = (IPv4Address if family == 1 else IPv6Address)(record[:width])
                capture.hosts[str(address)] = record[width:].rstrip(b"\0").decode()
        else:
            assert kind == 6
            interface, high, low, captured, size = struct.unpack_from("<IIIII", body)
            data = body[20 : 20 + captured]
            about = dict(options(body[20 + (captured + 3) // 4 * 4 :]))
            capture.frames.append(Frame(interface, high << 32 | low, data, size, about[1].decode()))
    return capture


@dataclass(frozen=True)
class Headers:
    """What the bytes of a frame say."""

    version: int
    src: str
    dst: str
    protocol: int
    ecn: int
    ip_bytes: int
    """Of the whole packet, from its IP header on."""
    l4: bytes


def headers(data: bytes) -> Headers:
    """Of a frame with IP; its checksum must be right."""
    (kind,) = struct.unpack_from(">H", data, 12)
    ip = data[14:]
    if kind == 0x0800:
        assert ip[0] == 0x45
        assert folded(ip[:20]) == 0xFFFF
        (length,) = struct.unpack_from(">H", ip, 2)
        ends = [str(IPv4Address(ip[at : at + 4])) for at in (12, 16)]
        return Headers(4, ends[0], ends[1], ip[9], ip[1] & 3, length, ip[20:])
    assert kind == 0x86DD
    first, length = struct.unpack_from(">IH", ip)
    assert first >> 28 == 6
    ends = [str(IPv6Address(ip[at : at + 16])) for at in (8, 24)]
    return Headers(6, ends[0], ends[1], ip[6], first >> 20 & 3, 40 + length, ip[40:])


def folded(data: bytes) -> int:
    """The sum of 16-bit words that RFC 1071 asks for."""
    total: int = sum(struct.unpack(f">{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return total


def with_pseudo_header(data: bytes, length: int) -> int:
    """The sum over a frame's segment or datagram of `length` bytes, the rest of it zeros."""
    found = headers(data)
    address = IPv4Address if found.version == 4 else IPv6Address
    ends = address(found.src).packed + address(found.dst).packed
    return folded(ends + struct.pack(">II", length, found.protocol) + found.l4)
