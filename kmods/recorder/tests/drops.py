"""Records drops of several kinds, in the lab, on the host's clock.

Usage, as the lab's one program: python3 drops.py DIRECTORY

drops.json in the directory holds {kind: options}. Each qdisc in turn takes 60 packets from two
sockets on a link of 1 Mb/s until all have left it. packets.bin gets the recorder's records, in
which the watches are in the order of the kinds.
"""

from __future__ import annotations

import json
import socket
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[3] / "src"))

from sandglass.agent import kernel

PORT = 5000
LIMIT = 30  # packets
CONTROL, PACKETS = Path("/proc/recorder/control"), Path("/proc/recorder/packets")


def record(number: int, kind: str, options: str) -> None:
    device = f"s{number}"
    for words in (
        f"link add {device} type veth peer p{number}",
        f"address add 10.0.{number}.1/24 dev {device}",
        f"neighbour add 10.0.{number}.2 lladdr 02:00:00:00:00:02 dev {device}",
        f"link set {device} up",
        f"link set p{number} up",
    ):
        kernel.run(["ip", *words.split()])
    for words in (
        f"qdisc add dev {device} root handle 1: htb default 1",
        f"class add dev {device} parent 1: classid 1:1 htb rate 1mbit",
        f"qdisc add dev {device} parent 1:1 handle 10: {kind} {options}",
    ):
        kernel.run(["tc", *words.split()])
    CONTROL.write_text(f"watch {device} 10: {LIMIT} packets")
    CONTROL.write_text("start packets")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        for _ in range(60):
            sender.sendto(bytes(1000), (f"10.0.{number}.2", PORT))
    time.sleep(0.6)
    CONTROL.write_text("stop")


def main(directory: Path) -> None:
    kinds: dict[str, str] = json.loads((directory / "drops.json").read_text())
    kernel.run(["modprobe", "-C", "/dev/null", "-d", "/run/sandglass/lab", "recorder"])
    for number, (kind, options) in enumerate(kinds.items()):
        record(number, kind, options)
    (directory / "packets.bin").write_bytes(PACKETS.read_bytes())


if __name__ == "__main__":
    main(Path(sys.argv[1]))
