"""Unloads a congestion control that the recorder has seen, in the lab, and asks for its name.

Usage, as the lab's one program: python3 unload.py DIRECTORY

control.txt in the directory gets what /proc/recorder/control says afterwards.
"""

from __future__ import annotations

import socket
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[3] / "src"))

from sandglass.agent import kernel

TCP_CONGESTION = 13  # <linux/tcp.h>
CONTROL = Path("/proc/recorder/control")
MODPROBE = ["modprobe", "-C", "/dev/null", "-d", "/run/sandglass/lab"]


def talk() -> None:
    """A connection over the loopback device that is acknowledged a few times, and closed."""
    with socket.create_server(("127.0.0.1", 0)) as server, socket.socket() as sender:
        sender.setsockopt(socket.IPPROTO_TCP, TCP_CONGESTION, b"reno_acks")
        # a socket that waits after its end would hold the module
        sender.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, bytes([1, 0, 0, 0, 0, 0, 0, 0]))
        sender.connect(server.getsockname())
        receiver, _ = server.accept()
        with receiver:
            sender.sendall(bytes(100_000))
            left = 100_000
            while left:
                left -= len(receiver.recv(left))


def main(directory: Path) -> None:
    kernel.run(["ip", "link", "set", "lo", "up"])
    kernel.run([*MODPROBE, "-a", "recorder", "tcp_reno_acks"])
    CONTROL.write_text("start acks")
    talk()
    CONTROL.write_text("stop")
    kernel.run([*MODPROBE, "-r", "tcp_reno_acks"])
    (directory / "control.txt").write_text(CONTROL.read_text())


if __name__ == "__main__":
    main(Path(sys.argv[1]))
