"""Samples queues that update a probability at intervals, in the lab and in virtual time.

Usage, as the lab's one program: python3 updates.py DIRECTORY

updates.json in the directory holds {name: [kind, options, how long to record in s]}. Each qdisc in
turn gets 80 packets at once, which take 0.7 s to leave. NAME.bin gets the recorder's
samples of its queue, which are so fine that they show when each update was.
"""

from __future__ import annotations

import json
import socket
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "src"))

from sandglass.agent import kernel

PEER, PORT = "10.0.0.2", 5000
PACKETS = 80  # more would wait for room in the socket
SAMPLE_NS = 5_000
BEFORE_S = 0.7  # PIE begins half a second after it was made
CONTROL, QUEUES = Path("/proc/recorder/control"), Path("/proc/recorder/queues")
MODPROBE = ("modprobe", "-C", "/dev/null", "-d", "/run/sandglass/lab")


def build(kind: str, options: str) -> None:
    for words in (
        "ip link add s type veth peer p",
        "ip address add 10.0.0.1/24 dev s",
        f"ip neighbour add {PEER} lladdr 02:00:00:00:00:02 dev s",
        "ip link set s up",
        "ip link set p up",
        "tc qdisc add dev s root handle 1: htb default 1",
        "tc class add dev s parent 1: classid 1:1 htb rate 1mbit",
        f"tc qdisc add dev s parent 1:1 handle 10: {kind} limit 1000 {options}",
    ):
        kernel.run(words.split())


def record(kind: str, options: str, seconds: float) -> bytes:
    """The samples of one queue; the recorder keeps them all, one queue's after the other's."""
    begin = len(QUEUES.read_bytes())
    build(kind, options)
    time.sleep(BEFORE_S)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        for _ in range(PACKETS):
            sender.sendto(bytes(1000), (PEER, PORT))
    CONTROL.write_text("watch s 10: 1000 packets")
    CONTROL.write_text(f"zero {time.clock_gettime_ns(time.CLOCK_MONOTONIC)}")
    CONTROL.write_text(f"start queues={SAMPLE_NS}")
    time.sleep(seconds)
    CONTROL.write_text("stop")
    kernel.run(["ip", "link", "del", "s"])
    return QUEUES.read_bytes()[begin:]


def main(directory: Path) -> None:
    wanted: dict[str, tuple[str, str, float]]
    wanted = json.loads((directory / "updates.json").read_text())
    kernel.run([*MODPROBE, "-a", "recorder", "sch_pi2", "sch_pie_draft"])
    for name, (kind, options, seconds) in wanted.items():
        (directory / f"{name}.bin").write_bytes(record(kind, options, seconds))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
