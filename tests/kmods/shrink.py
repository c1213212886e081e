"""Shortens the limit of a full queue, in the lab.

Usage, as the lab's one program: python3 shrink.py DIRECTORY

shrink.json in the directory holds {kind: options}. Each qdisc in turn takes 50 packets on a link
that hardly sends, and is then told `limit 10`. queues.json gets {kind: packets in the queue after
that}.
"""

from __future__ import annotations

import json
import socket
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "src"))

from sandglass.agent import kernel
from sandglass.agent.tc import Tc

PEER = "10.0.0.2"
PORT = 5000
PLACE = "dev s parent 1:1 handle 10:"


def tc(words: str) -> str:
    return kernel.run(["tc", *words.split()])


def build() -> None:
    for words in (
        "link add s type veth peer p",
        "address add 10.0.0.1/24 dev s",
        f"neighbour add {PEER} lladdr 02:00:00:00:00:02 dev s",
        "link set s up",
        "link set p up",
    ):
        kernel.run(["ip", *words.split()])
    tc("qdisc add dev s root handle 1: htb default 1")
    tc("class add dev s parent 1: classid 1:1 htb rate 8bit burst 1500 cburst 1500")


def shrunk(kind: str, options: str) -> int:
    """Packets that stand in the queue when its limit has become 10."""
    tc(f"qdisc add {PLACE} {kind} limit 1000 {options}")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        for _ in range(50):
            sender.sendto(bytes(1000), (PEER, PORT))
    tc(f"qdisc change {PLACE} {kind} limit 10")
    shown = Tc(None).qdiscs()
    left: int = next(qdisc["qlen"] for qdisc in shown if qdisc["kind"] == kind)
    tc(f"qdisc del {PLACE}")
    return left


def main(directory: Path) -> None:
    kinds: dict[str, str] = json.loads((directory / "shrink.json").read_text())
    kernel.run(
        ["modprobe", "-C", "/dev/null", "-d", "/run/sandglass/lab", "-a"]
        + [f"sch_{kind}" for kind in kinds]
    )
    build()
    left = {kind: shrunk(kind, options) for kind, options in kinds.items()}
    (directory / "queues.json").write_text(json.dumps(left))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
