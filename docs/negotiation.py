"""What two ends agree on over paths that rewrite headers; the lab's side of accecn.py.

Usage, as the lab's one program: python3 negotiation.py DIRECTORY

It makes a client, a server and, as a program between two veths, the path. Each combination of the
three is a connection of its own, over which both ends send. found.json in the directory gets
[[path, client, server, {end: what it holds and what it sent}], ...].
"""

from __future__ import annotations

import json
import socket
import struct
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "src"))

from sandglass.agent import interfaces, kernel, tcp
from sandglass.agent.netlink import Rtnetlink

ENDS = ("0", "1", "2", "3", "4", "5", "prague")
"""What an end has: a value of tcp_ecn, or prague with tcp_ecn at its default, 2."""
ADDRESS = {"client": "10.0.0.1", "server": "10.0.0.2"}
OTHER = {"client": "server", "server": "client"}
ETHERTYPE_IP = 0x0800
OUTGOING = 4  # PACKET_OUTGOING of <linux/if_packet.h>
IP, TCP = 14, 34  # where the headers begin in a frame
SYN, CE = 0x02, 3
DATA = bytes(20_000)
HALF_RTT_S = 0.01
TURNS = 40  # half round trips that a connection is given


def checksum(data: bytes) -> int:
    """The Internet checksum, RFC 1071."""
    data += bytes(len(data) % 2)
    total: int = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def pass_on(frame: bytearray) -> None:
    """Nothing is changed."""


def bleach(frame: bytearray) -> None:
    """The ECN field of every packet becomes Not-ECT."""
    frame[IP + 1] &= ~3


def clear(frame: bytearray) -> None:
    """The three bits of ECN in every TCP header become 0."""
    frame[TCP + 12] &= ~0x01
    frame[TCP + 13] &= ~0xC0


def mark(frame: bytearray) -> None:
    """Every packet with ECT becomes CE."""
    if frame[IP + 1] & 3:
        frame[IP + 1] |= CE


PATHS: dict[str, Callable[[bytearray], None]] = {
    "leaves all as it is": pass_on,
    "bleaches: clears the ECN field of every IP header": bleach,
    "clears the bits of ECN in every TCP header": clear,
    "marks: every ECT packet becomes CE": mark,
}


def sealed(frame: bytearray) -> bytes:
    """The frame with the checksums that its headers need."""
    length = struct.unpack_from("!H", frame, IP + 2)[0]
    struct.pack_into("!H", frame, IP + 10, 0)
    struct.pack_into("!H", frame, IP + 10, checksum(bytes(frame[IP:TCP])))
    text = frame[TCP : IP + length]
    struct.pack_into("!H", text, 16, 0)
    ends = bytes(frame[IP + 12 : TCP]) + struct.pack("!BBH", 0, socket.IPPROTO_TCP, len(text))
    struct.pack_into("!H", frame, TCP + 16, checksum(ends + bytes(text)))
    return bytes(frame[: IP + length])


class Between:
    """The two ends' devices, as the program between them sees them."""

    def __init__(self) -> None:
        self.frames = {}
        self.newest: dict[str, int] = {}  # sequence number that has been sent, by end
        addresses = {}
        kernel.create_namespace("path")
        for end, address in ADDRESS.items():
            kernel.create_namespace(end)
            veth = ["type", "veth", "peer", end, "netns", "path"]
            kernel.run(["ip", "link", "add", "e", "netns", end, *veth])
            for device, place in (("e", end), (end, "path")):
                kernel.run(["ip", "link", "set", device, "up"], place)
            with Rtnetlink(end) as link:
                interfaces.offloads_off(link, "e")
            addresses[end] = json.loads(kernel.run(["ip", "-j", "link", "show", "e"], end))[0]
            kernel.run(["ip", "address", "add", f"{address}/24", "dev", "e"], end)
            kernel.write_sysctl("net.ipv4.tcp_no_metrics_save", 1, end)
            with kernel.namespace("path"):
                self.frames[end] = socket.socket(
                    socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETHERTYPE_IP)
                )
            self.frames[end].bind((end, ETHERTYPE_IP))
            self.frames[end].setblocking(False)
        for end, other in OTHER.items():
            at = addresses[other]["address"]
            words = [ADDRESS[other], "lladdr", at, "dev", "e"]
            kernel.run(["ip", "neighbour", "add", *words], end)

    def taken(self, end: str) -> Iterator[bytearray]:
        """The frames that an end has sent."""
        while True:
            try:
                frame, address = self.frames[end].recvfrom(4096)
            except BlockingIOError:
                return
            if address[2] != OUTGOING and frame[IP + 9] == socket.IPPROTO_TCP:
                yield bytearray(frame)

    def forward(self, rewrite: Callable[[bytearray], None]) -> dict[str, list[tuple[str, int]]]:
        """Half a round trip; returns what each end has sent: of which kind, and its ECN field."""
        sent: dict[str, list[tuple[str, int]]] = {}
        time.sleep(HALF_RTT_S)
        taken = {end: list(self.taken(end)) for end in ADDRESS}
        for end, frames in taken.items():
            sent[end] = [(self.kind_of(end, frame), frame[IP + 1] & CE) for frame in frames]
            for frame in frames:
                rewrite(frame)
                self.frames[OTHER[end]].send(sealed(frame))
        return sent

    def kind_of(self, end: str, frame: bytearray) -> str:
        """SYN, data, again (a retransmission) or ACK."""
        sequence, flags = struct.unpack_from("!I5xB", frame, TCP + 4)
        if flags & SYN:
            self.newest[end] = sequence
            return "SYN"
        length = struct.unpack_from("!H", frame, IP + 2)[0]
        if length == TCP - IP + (frame[TCP + 12] >> 4) * 4:
            return "ACK"
        if (sequence - self.newest[end]) & 1 << 31:
            return "again"
        self.newest[end] = sequence + 1
        return "data"


def state(connection: socket.socket) -> dict[str, Any]:
    """What an end holds of the negotiation; struct tcp_info of <linux/tcp.h>, its last members."""
    known = struct.calcsize(tcp._FORMAT)
    raw = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, known + 32)
    mode = struct.unpack_from("=I", raw, known + 28)[0] & 3
    info = tcp.info(connection)
    assert info["bytes_acked"] >= len(DATA)
    return {"mode": mode, "told": info["delivered_ce"]}


def connection(path: Between, client: str, server: str, rewrite: str, port: int) -> dict[str, Any]:
    """Both ends send over a connection of theirs; returns what they sent and what they hold."""
    for end, has in (("client", client), ("server", server)):
        kernel.write_sysctl("net.ipv4.tcp_ecn", 2 if has == "prague" else int(has), end)
    listener, caller = tcp.open_socket("server"), tcp.open_socket("client")
    for opened, has in ((listener, server), (caller, client)):
        opened.setblocking(False)
        tcp.set_congestion_control(opened, "prague" if has == "prague" else "reno")
    listener.bind((ADDRESS["server"], port))
    listener.listen(1)
    caller.connect_ex((ADDRESS["server"], port))
    sent: dict[str, list[tuple[str, int]]] = {"client": [], "server": []}
    answerer = None
    for _ in range(TURNS):
        for end, kinds in path.forward(PATHS[rewrite]).items():
            sent[end] += kinds
        if answerer is None:
            try:
                answerer = listener.accept()[0]
            except BlockingIOError:
                continue
            caller.send(DATA)
            answerer.send(DATA)
    assert answerer is not None
    found = {"client": state(caller), "server": state(answerer)}
    for opened in (caller, answerer, listener):
        opened.close()
    for _ in range(10):
        path.forward(pass_on)
    fields = {
        end: {kind: sorted({field for k, field in kinds if k == kind}) for kind in ("SYN", "data")}
        for end, kinds in sent.items()
    }
    return {end: found[end] | fields[end] for end in ADDRESS}


def main(directory: Path) -> None:
    kernel.sleep_exactly()
    kernel.run(["modprobe", "-C", "/dev/null", "-d", "/run/sandglass/lab", "tcp_prague"])
    path = Between()
    found = [
        (rewrite, client, server, connection(path, client, server, rewrite, 1000 + number))
        for number, (rewrite, client, server) in enumerate(
            (rewrite, client, server) for rewrite in PATHS for client in ENDS for server in ENDS
        )
    ]
    (directory / "found.json").write_text(json.dumps(found))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
