"""Requests to the kernel's routing subsystem: RFC 3549, <linux/netlink.h>, <linux/rtnetlink.h>.

A process of `ip` costs the lab ten milliseconds, a request a few hundredths of one, and no virtual
time.
"""

from __future__ import annotations

import contextlib
import os
import socket
import struct
from typing import TYPE_CHECKING

from sandglass.agent import kernel
from sandglass.agent.failure import RunError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

NLM_F_REQUEST, NLM_F_ACK, NLM_F_ECHO = 0x1, 0x4, 0x8
NLM_F_REPLACE, NLM_F_EXCL, NLM_F_CREATE = 0x100, 0x200, 0x400
NLMSG_ERROR = 2
NLMSGERR_ATTR_MSG = 1
SOL_NETLINK = 270
NETLINK_CAP_ACK, NETLINK_EXT_ACK = 10, 11
HEADER = struct.Struct("=IHHII")  # struct nlmsghdr: length, type, flags, sequence, port
ATTRIBUTE = struct.Struct("=HH")  # struct nlattr: length, type
LARGEST_ANSWER = 1 << 16
MOST_REQUESTS = 500
"""In one packet."""


class Rtnetlink:
    """A socket for requests to one network namespace, None for where the agent started."""

    def __init__(self, where: str | None) -> None:
        self.where = where
        with kernel.namespace(where):
            self.socket = socket.socket(
                socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, socket.NETLINK_ROUTE
            )
        # The kernel's own words for what it refuses, and not our request once more.
        self.socket.setsockopt(SOL_NETLINK, NETLINK_EXT_ACK, 1)
        self.socket.setsockopt(SOL_NETLINK, NETLINK_CAP_ACK, 1)

    def __enter__(self) -> Rtnetlink:
        return self

    def __exit__(self, *raised: object) -> None:
        self.socket.close()

    def ask(self, what: str, kind: int, content: bytes, flags: int = 0) -> list[bytes]:
        """Make a request and wait until it is carried out; returns the contents of its answers.

        `what` says in an error what was asked.

        Raises:
            RunError: the kernel refuses; with its words.
        """
        return self._carried_out([what], _request(kind, content, flags | NLM_F_ACK, 0))

    def tell(self, requests: Sequence[tuple[str, bytes]], kind: int, flags: int = 0) -> None:
        """Make many requests of one kind, each `what` and its content, a packet of them at a time.

        Raises:
            RunError: the kernel refuses one; with its words.
        """
        for first in range(0, len(requests), MOST_REQUESTS):
            some = requests[first : first + MOST_REQUESTS]
            # What is refused is answered in any case; what is carried out, if it asks for it.
            asks = [0] * (len(some) - 1) + [NLM_F_ACK]
            packed = [
                _request(kind, content, flags | ask, number)
                for number, ((_, content), ask) in enumerate(zip(some, asks, strict=True))
            ]
            self._carried_out([what for what, _ in some], b"".join(packed))

    def _carried_out(self, whats: Sequence[str], packet: bytes) -> list[bytes]:
        """Send a packet of requests, the last of which asks for an answer, and wait for that."""
        self.socket.send(packet)
        answers = []
        while True:
            received = self.socket.recv(LARGEST_ANSWER)
            at = 0
            while at < len(received):
                length, told, _, asked, _ = HEADER.unpack_from(received, at)
                content = received[at + HEADER.size : at + length]
                at += _padded(length)
                if told != NLMSG_ERROR:
                    answers.append(content)
                    continue
                (number,) = struct.unpack_from("=i", content)
                if number:
                    raise RunError(f"{whats[asked]}: {_refusal(-number, content)}")
                return answers


def _request(kind: int, content: bytes, flags: int, sequence: int) -> bytes:
    length = HEADER.size + len(content)
    packed = HEADER.pack(length, kind, flags | NLM_F_REQUEST, sequence, 0) + content
    return packed.ljust(_padded(length), b"\0")


def _refusal(number: int, content: bytes) -> str:
    """Why a request was refused: struct nlmsgerr and what follows it."""
    words = os.strerror(number)
    with contextlib.suppress(struct.error):
        told = dict(attributes(content[4 + HEADER.size :])).get(NLMSGERR_ATTR_MSG)
        if told:
            words += f": {told.rstrip(bytes(1)).decode()}"
    return words


def attribute(kind: int, value: bytes | int | str) -> bytes:
    """An attribute; an int is one of 32 bits, a text one that ends with a zero."""
    if isinstance(value, int):
        value = struct.pack("=I", value)
    elif isinstance(value, str):
        value = value.encode() + b"\0"
    packed = ATTRIBUTE.pack(ATTRIBUTE.size + len(value), kind) + value
    return packed.ljust(_padded(len(packed)), b"\0")


def attributes(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Type and content of each attribute of a message."""
    at = 0
    while at < len(data):
        length, kind = ATTRIBUTE.unpack_from(data, at)
        yield kind, data[at + ATTRIBUTE.size : at + length]
        at += _padded(length)


def _padded(length: int) -> int:
    """Messages and attributes begin at multiples of four bytes."""
    return -(-length // 4) * 4
