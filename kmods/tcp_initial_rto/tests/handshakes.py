"""Loses SYNs or SYN-ACKs, in the lab and in virtual time, and tells when they are sent again.

Usage, as the lab's one program: python3 handshakes.py DIRECTORY

cases.json in the directory holds {name: case}. A case: {"family": 4 or 6, "client", "server": the
setting of each host in ms, null where the module is not loaded, "later": what both have half a
second after the first SYN, "lost": "syn" or "syn-ack", "lost_ms": until when, "timestamps": whether
both ends have them}. seen.json gets {name: {"start_ms": when the client connects, by
CLOCK_MONOTONIC, "syn", "syn-ack": how many ms later each is sent, "rto_ms": the client's timeout at
the end}}.
"""

from __future__ import annotations

import json
import select
import socket
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[3] / "src"))

from sandglass.agent import interfaces, kernel, tcp
from sandglass.agent.netlink import Rtnetlink

HOSTS = {"client": 1, "server": 2}
PORT = 5000
LATER_MS = 500
WATCHED_MS = 60_000
PLACES = {0x0800: (23, 34), 0x86DD: (20, 54)}  # in a frame, of the protocol and of its header
SYN, ACK = 0x02, 0x10
MASKS = {"syn": "syn", "syn-ack": "(syn | ack)"}
LOSES = {"syn": "server", "syn-ack": "client"}
SETTING = "net.ipv4.tcp_initial_rto.ms"
MODPROBE = ["modprobe", "-C", "/dev/null", "-d", "/run/sandglass/lab"]


def address(host: str, family: int) -> str:
    return f"10.0.0.{HOSTS[host]}" if family == 4 else f"fd00::{HOSTS[host]}"


def build() -> None:
    for name in HOSTS:
        kernel.create_namespace(name)
    both = ["c", "netns", "client", "type", "veth", "peer", "s", "netns", "server"]
    kernel.run(["ip", "link", "add", *both])
    for name in HOSTS:
        device = name[0]
        kernel.run(["ip", "link", "set", device, "up"], name)
        kernel.write_sysctl(f"net.ipv6.conf.{device}.disable_ipv6", 0, name)
        with Rtnetlink(name) as link:
            interfaces.offloads_off(link, device)
        for family, length in ((4, 24), (6, 64)):
            words = ["ip", "address", "add", f"{address(name, family)}/{length}", "dev", device]
            kernel.run(words + (["nodad"] if family == 6 else []), name)
        kernel.write_sysctl("net.ipv4.tcp_syn_linear_timeouts", 0, name)
        kernel.write_sysctl("net.ipv4.tcp_no_metrics_save", 1, name)
    for family in (4, 6):  # so that no neighbour has to be asked for
        kernel.run(["ping", "-c", "1", address("server", family)], "client")


def lose(what: str) -> None:
    host = LOSES[what]
    kernel.run(["nft", "add table inet lost"], host)
    chain = "add chain inet lost input { type filter hook input priority 0; }"
    kernel.run(["nft", chain], host)
    flags = f"tcp flags & (syn | ack) == {MASKS[what]}"
    kernel.run(["nft", f"add rule inet lost input {flags} drop"], host)


def kind_of(frame: bytes) -> str | None:
    """Whether a frame is a SYN, a SYN-ACK, or none of both."""
    protocol, header = PLACES.get(int.from_bytes(frame[12:14], "big"), (0, 0))
    if not header or frame[protocol] != socket.IPPROTO_TCP or not frame[header + 13] & SYN:
        return None
    return "syn-ack" if frame[header + 13] & ACK else "syn"


def shake(case: dict[str, Any]) -> dict[str, Any]:
    """One connection, and what is seen of it on the server's end of the link."""
    family = {4: socket.AF_INET, 6: socket.AF_INET6}[case["family"]]
    for name in HOSTS:
        kernel.write_sysctl("net.ipv4.tcp_timestamps", int(case["timestamps"]), name)
        if case[name] is not None:
            kernel.write_sysctl(SETTING, case[name], name)
    lose(case["lost"])
    with kernel.namespace("server"):
        frames = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
        server = socket.create_server((address("server", case["family"]), PORT), family=family)
    frames.bind(("s", 3))
    frames.setblocking(False)
    with kernel.namespace("client"):
        client = socket.socket(family)
    client.setblocking(False)
    start_ns = (time.monotonic_ns() // 1_000_000 + 1) * 1_000_000 + 500_000  # between two ticks
    kernel.sleep_until(start_ns)
    client.connect_ex((address("server", case["family"]), PORT))
    seen: dict[str, list[int]] = {"syn": [], "syn-ack": []}
    watch(frames, start_ns, LATER_MS, seen)
    if case["later"] is not None:
        for name in HOSTS:
            kernel.write_sysctl(SETTING, case["later"], name)
    watch(frames, start_ns, case["lost_ms"], seen)
    kernel.run(["nft", "delete table inet lost"], LOSES[case["lost"]])
    watch(frames, start_ns, WATCHED_MS, seen)
    rto_ms = tcp.info(client)["rto"] // 1000
    for each in (client, server, frames):
        each.close()
    return seen | {"start_ms": start_ns // 1_000_000, "rto_ms": rto_ms}


def watch(frames: socket.socket, start_ns: int, until_ms: int, seen: dict[str, list[int]]) -> None:
    """Take in what passes until then; a frame's time is that of the tick in which it came."""
    end_ns = start_ns + until_ms * 1_000_000
    while (left_ns := end_ns - time.monotonic_ns()) > 0:
        if select.select([frames], [], [], left_ns / 1e9)[0]:
            at_ms = (time.monotonic_ns() - start_ns) // 1_000_000
            if kind := kind_of(frames.recv(2048)):
                seen[kind].append(at_ms)


def main(directory: Path) -> None:
    kernel.sleep_exactly()
    cases = json.loads((directory / "cases.json").read_text())
    build()
    found = {}
    for loaded in (False, True):
        if loaded:
            kernel.run([*MODPROBE, "tcp_initial_rto"])
        for name, case in cases.items():
            if (case["client"] is not None) == loaded:
                found[name] = shake(case)
    (directory / "seen.json").write_text(json.dumps(found))
    kernel.run([*MODPROBE, "-r", "tcp_initial_rto"])


if __name__ == "__main__":
    main(Path(sys.argv[1]))
