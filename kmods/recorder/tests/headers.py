"""Records packets whose headers lie in pages, in the lab, and asks for headers when it is too late.

Usage, as the lab's one program: python3 headers.py DIRECTORY

frames.json in the directory holds Ethernet frames in hexadecimal digits; one that is shorter than a
page is in linear data all the same.
STREAM.bin gets the recorder's records of each stream, control.txt what it says of them, and
late.txt the error of a command that asks for headers while packets without them are queued.
"""

from __future__ import annotations

import errno
import json
import socket
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[3] / "src"))

from sandglass.agent import kernel
from sandglass.agent.recorder import STREAMS

SOL_PACKET, PACKET_VNET_HDR = 263, 15  # <linux/if_packet.h>
ETHERNET_HEADER = 14
PROC = Path("/proc/recorder")
CONTROL = PROC / "control"


def build() -> None:
    """A link of 1 Mb/s for frames of more than a page, which is watched."""
    for words in (
        "link set lo up",
        "link add s0 mtu 9000 type veth peer p0 mtu 9000",
        "address add 10.0.0.1/24 dev s0",
        "neighbour add 10.0.0.2 lladdr 02:00:00:00:00:02 dev s0",
        "link set s0 up",
        "link set p0 up",
    ):
        kernel.run(["ip", *words.split()])
    for words in (
        "qdisc add dev s0 root handle 1: htb default 1",
        "class add dev s0 parent 1: classid 1:1 htb rate 1mbit",
        "qdisc add dev s0 parent 1:1 handle 10: pfifo limit 30",
    ):
        kernel.run(["tc", *words.split()])
    CONTROL.write_text("watch s0 10: 30 packets")


def send_in_pages(frames: list[bytes]) -> None:
    """Send frames of which no more than Ethernet's header is in a packet's linear data."""
    before = bytes([0, 0, ETHERNET_HEADER, 0, 0, 0, 0, 0, 0, 0])  # struct virtio_net_hdr
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0) as sender:
        sender.setsockopt(SOL_PACKET, PACKET_VNET_HDR, 1)
        sender.bind(("s0", 0))
        for frame in frames:
            sender.send(before + frame)


def acknowledge() -> None:
    """A connection over the loopback device that is acknowledged at least once."""
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        socket.create_connection(server.getsockname()) as sender,
        server.accept()[0] as receiver,
    ):
        sender.sendall(bytes(1000))
        receiver.recv(1000, socket.MSG_WAITALL)


def ask_too_late() -> str:
    """The error of a command for headers while a packet is queued; empty where it is obeyed."""
    CONTROL.write_text("start packets")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        for _ in range(10):
            sender.sendto(bytes(1000), ("10.0.0.2", 5000))
    try:
        CONTROL.write_text("start headers")
    except OSError as error:
        return errno.errorcode[error.errno or 0]
    return ""


def main(directory: Path) -> None:
    kernel.run(["modprobe", "-C", "/dev/null", "-d", "/run/sandglass/lab", "recorder"])
    build()
    CONTROL.write_text("start packets headers acks queues=10000000")
    send_in_pages([bytes.fromhex(f) for f in json.loads((directory / "frames.json").read_text())])
    acknowledge()
    time.sleep(0.5)
    CONTROL.write_text("stop")
    (directory / "control.txt").write_text(CONTROL.read_text())
    for stream in STREAMS:
        (directory / f"{stream}.bin").write_bytes((PROC / stream).read_bytes())
    (directory / "late.txt").write_text(ask_too_late())


if __name__ == "__main__":
    main(Path(sys.argv[1]))
