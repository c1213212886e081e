"""How the interfaces of this network namespace are linked, as the kernel tells of each change."""

from __future__ import annotations

import socket
import struct

from sandglass.agent.netlink import HEADER, attributes

LINK = struct.Struct("=BxHiII")  # struct ifinfomsg: family, type, index, flags, change
NEWLINK, DELLINK = 16, 17  # <linux/rtnetlink.h>
GROUP_LINK = 1  # RTMGRP_LINK
NAME, OTHER_END, ELSEWHERE = 3, 5, 37  # IFLA_IFNAME, IFLA_LINK and IFLA_LINK_NETNSID
PIECE = 1 << 16


class Wiring:
    """The links both of whose ends are here, as those between Mininet's switches are."""

    def __init__(self) -> None:
        self.socket = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE)
        self.socket.bind((0, GROUP_LINK))
        self._names: dict[int, str] = {}
        self._others: dict[int, int] = {}

    def take(self) -> None:
        """Take in what the kernel has told; it has told something when the socket is readable."""
        data, at = self.socket.recv(PIECE), 0
        while at < len(data):
            length, kind, *_ = HEADER.unpack_from(data, at)
            if kind in (NEWLINK, DELLINK):
                self._change(data[at + HEADER.size : at + length], gone=kind == DELLINK)
            at += length + -length % 4  # where the next begins

    def _change(self, message: bytes, *, gone: bool) -> None:
        index = LINK.unpack_from(message)[2]
        self._names.pop(index, None)
        self._others.pop(index, None)
        if gone:
            return
        told = dict(attributes(message[LINK.size :]))
        self._names[index] = told[NAME].rstrip(b"\0").decode(errors="replace")
        if OTHER_END in told and ELSEWHERE not in told:
            self._others[index] = int.from_bytes(told[OTHER_END], "little")

    @property
    def links(self) -> list[tuple[str, str]]:
        """The names of both ends of each, in the order of their names."""
        pairs = {
            tuple(sorted((self._names[index], self._names[other])))
            for index, other in self._others.items()
            if self._others.get(other) == index
        }
        return sorted((one, other) for one, other in pairs)
