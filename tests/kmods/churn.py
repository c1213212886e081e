"""Adds, changes and deletes qdiscs under traffic, in the lab and in virtual time.

Usage, as the lab's one program: python3 churn.py DIRECTORY

On a machine with a kernel of its own and several processors, statistics are asked for all the
while, on another processor than the one that sends.

churn.json in the directory holds {kind: [times, options to add, options to change]}. Datagrams five
times as fast as the link go through an HTB class all the while; each qdisc in turn is put below it,
changed and taken away again, with packets in it. memory.json gets {kind: [kB of memory in use
before, and after]}; before is after a tenth of the times, since caches fill.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "src"))

from sandglass.agent import kernel

HERE, THERE = "10.0.0.1", "10.0.0.2"
PORT = 5000
MODULES = "/run/sandglass/lab"  # the lab's, of which a machine knows nothing
PAUSE_S = 0.0005  # a packet or two leave in it, and some more come


def build() -> None:
    for name in ("sender", "peer"):
        kernel.create_namespace(name)
    kernel.run(
        ["ip", "link", "add", "s", "netns", "sender", "type", "veth", "peer", "p", "netns", "peer"]
    )
    for name, device, address in (("sender", "s", HERE), ("peer", "p", THERE)):
        kernel.run(["ip", "address", "add", f"{address}/24", "dev", device], name)
        kernel.run(["ip", "link", "set", device, "up"], name)
    for words in (
        "qdisc add dev s root handle 1: htb default 1",
        "class add dev s parent 1: classid 1:1 htb rate 20mbit",
    ):
        kernel.run(["tc", *words.split()], "sender")


def send(stop: threading.Event) -> None:
    """1000 bytes, half of them ECN-capable, every 80 us: 100 Mb/s."""
    os.sched_setaffinity(0, processors()[:1])
    with kernel.namespace("sender"):
        sockets = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(2)]
    sockets[0].setsockopt(socket.IPPROTO_IP, socket.IP_TOS, 2)
    while not stop.is_set():
        for sender in sockets:
            sender.sendto(bytes(1000), (THERE, PORT))
        time.sleep(160e-6)


def ask(stop: threading.Event) -> None:
    """Have all statistics of qdiscs and classes dumped again and again."""
    os.sched_setaffinity(0, processors()[1:])
    with tc("-statistics", stdout=subprocess.DEVNULL) as shown:
        assert shown.stdin
        while not stop.is_set():
            shown.stdin.write("qdisc show dev s\nclass show dev s\n")
            shown.stdin.flush()


def processors() -> list[int]:
    """All of the machine's."""
    return list(range(os.cpu_count() or 1))


def tc(*options: str, stdout: int | None = None) -> subprocess.Popen[str]:
    """A tc for the sender that reads commands."""
    command = ["ip", "netns", "exec", "sender", "tc", *options, "-batch", "-"]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=stdout, text=True)


def used_kb() -> int:
    """Memory in use that is not the page cache."""
    words = [line.split() for line in Path("/proc/meminfo").read_text().splitlines()]
    found = {word[0].rstrip(":"): int(word[1]) for word in words}
    return found["MemTotal"] - found["MemFree"] - found["Cached"] - found["Buffers"]


def churn(kind: str, times: int, add: str, change: str) -> None:
    place = "dev s parent 1:1 handle 10:"
    lines = [f"add {place} {kind} {add}", f"change {place} {kind} {change}", f"del {place}"]
    with tc() as changed:
        assert changed.stdin
        for line in lines * times:
            changed.stdin.write(f"qdisc {line}\n")
            changed.stdin.flush()
            time.sleep(PAUSE_S)
    if changed.returncode:
        sys.exit(f"tc ended with {changed.returncode}")


def used_after(kind: str, times: int, add: str, change: str) -> int:
    """kB in use when a qdisc has come and gone so often and tc, which frees nothing, has ended."""
    churn(kind, times, add, change)
    time.sleep(1)
    return used_kb()


def main(directory: Path) -> None:
    kernel.sleep_exactly()
    kinds = json.loads((directory / "churn.json").read_text())
    place = ["-C", "/dev/null", "-d", MODULES] if Path(MODULES).exists() else []
    kernel.run(["modprobe", *place, "-a", *(f"sch_{kind}" for kind in kinds)])
    build()
    stop = threading.Event()
    work = [send, ask] if len(processors()) > 1 else [send]
    threads = [threading.Thread(target=each, args=(stop,)) for each in work]
    for thread in threads:
        thread.start()
    try:
        memory = {
            kind: [used_after(kind, count, add, change) for count in (times // 10, times)]
            for kind, (times, add, change) in kinds.items()
        }
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    (directory / "memory.json").write_text(json.dumps(memory))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
