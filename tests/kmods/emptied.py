"""Lets CoDel drop the last packet but one of a queue, in the lab, below a qdisc that keeps a list.

Usage, as the lab's one program: python3 emptied.py DIRECTORY

emptied.json in the directory holds {"modules": names, "queues": {kind: options}}. Each queue in
turn gets bursts of every length from 15 packets to 79, each when the one before has left.
twice.json gets {kind: how often the qdisc above was told that it is empty, and then got its last
packet}.
"""

from __future__ import annotations

import json
import socket
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "src"))

from sandglass.agent import kernel

PEER = "10.0.0.2"
PORT = 5000
TWICE = Path("/sys/module/sch_above/parameters/twice")
BURSTS = range(15, 80)
PACKET_S = 0.0085  # 1042 bytes on a link of 1 Mb/s


def words(text: str) -> None:
    kernel.run(text.split())


def build() -> None:
    for line in (
        "ip link add s type veth peer p",
        "ip address add 10.0.0.1/24 dev s",
        f"ip neighbour add {PEER} lladdr 02:00:00:00:00:02 dev s",
        "ip link set s up",
        "ip link set p up",
        "tc qdisc add dev s root handle 1: htb default 1",
        "tc class add dev s parent 1: classid 1:1 htb rate 1mbit burst 1 cburst 1",
        "tc qdisc add dev s parent 1:1 handle 2: above",
    ):
        words(line)


def twice(kind: str, options: str) -> int:
    """How often a queue of this kind was taken off twice."""
    words("ip link set s mtu 600")  # CoDel leaves the last packet of this size alone
    words(f"tc qdisc add dev s parent 2:1 handle 10: {kind} {options}")
    words("ip link set s mtu 1500")
    before = int(TWICE.read_text())
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        for count in BURSTS:
            for _ in range(count):
                sender.sendto(bytes(1000), (PEER, PORT))
            time.sleep(count * PACKET_S + 1)
    found = int(TWICE.read_text()) - before
    words("tc qdisc del dev s parent 2:1 handle 10:")
    return found


def main(directory: Path) -> None:
    wanted = json.loads((directory / "emptied.json").read_text())
    kernel.run(
        ["modprobe", "-C", "/dev/null", "-d", "/run/sandglass/lab", "-a", *wanted["modules"]]
    )
    build()
    found = {kind: twice(kind, options) for kind, options in wanted["queues"].items()}
    words("ip link del s")  # or the debug lab wonders who uses the module
    (directory / "twice.json").write_text(json.dumps(found))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
