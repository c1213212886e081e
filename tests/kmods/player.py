"""Plays scripts of segments against the kernel's TCP, in the lab and in virtual time.

Usage, as the lab's one program: python3 player.py DIRECTORY

The kernel's end is a real socket in network namespace `sender`. The other end is this program,
which sees and sends the frames of a veth in namespace `peer`. scripts.json in the directory holds
{name: script}, traces.json gets {name: [one entry for each step]}.

A script: {"cc", "sysctls": {name: value}, "ecn", "timestamps", "steps": [[operation, ...], ...]}.
"ecn" is what the peer agrees to: true, false or "accurate". Positions in the stream are counted in
segments of 1000 bytes. The operations:

    wait MS                 let virtual time pass
    write N                 the application writes N segments
    next                    wait, to the millisecond, until the kernel sends something; 10 s at most
    ack N OPTIONS           a segment that acknowledges N segments, null: all sent, -N: all but N;
                            OPTIONS may hold
                            "ece": true, "sack": [[from, to], ...] (first a DSACK, if there is one),
                            "ce": N, the marked packets that the peer has counted by now, which are
                            in each later ACK too; "bytes": [ECT(1), CE, ECT(0)], those that it has
                            counted;
                            "echo": N, the segment whose first transmission it echoes in its
                            timestamp; "window": N, the segments that its window has room for
    data N OPTIONS          N segments of data from the peer; OPTIONS may hold "ce": true
    cc NAME                 another congestion control for the socket
    tc WORDS                a tc command for the sender's device
    ip WORDS                an ip command in the sender's namespace
    sysctl NAME VALUE       a write to a sysctl of the sender's namespace

An entry: {"cwnd", "ssthresh", "state", "sent": [[first segment, flags, time in ms], ...]} with the
flags "C" for CWR; "alpha" of a DCTCP, else null; "acks": [[segments, flags], ...], what the kernel
acknowledges of the peer's data, with the flags "E" for ECN-Echo; "info", what LS-AIMD or Prague
tells of itself, in hexadecimal; and "refused" with a sysctl's error. In a script for "prague" it
has "cc" too, the congestion control that is really used, and "ecn", the ECN fields of what was
sent since the entry before, at first since the SYN. A segment's time is that of the end of
the step in which it was sent.
"""

from __future__ import annotations

import errno
import json
import socket
import struct
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2] / "src"))

from sandglass.agent import interfaces, kernel, modules, tcp
from sandglass.agent.netlink import Rtnetlink

SENDER, PEER = "10.0.0.1", "10.0.0.2"
PORT = 5000
SEGMENT = 1000
HALF_RTT_S = 0.025
ROUNDING_NS, HALF_TICK_NS = 4_096_000_000, 500_000  # of the kernel's timer wheel, at 1000 Hz
ETHERTYPE_IP = 0x0800
OUTGOING = 4  # PACKET_OUTGOING of <linux/if_packet.h>
SYN, ACK, ECE, CWR = 0x02, 0x10, 0x40, 0x80
AE = 0x01  # in the byte before: with CWR and ECE the field ACE of Accurate ECN, RFC 9768
FIRST_COUNT = 5  # of ACE
ACCURATE_ECN = 174  # the option with counts of bytes, ECT(1) first
# ACE of a SYN-ACK by the ECN field of the SYN, RFC 9768 table 2
SYN_ECHO = {0: 2, 1: 3, 2: 4, 3: 6}
FIRST = 1_000_000  # the peer's initial sequence number
WINDOW_SCALE = 7
LARGEST_WINDOW = 0xFFFF  # as the header has it, in units of 1 << WINDOW_SCALE bytes
ECT, CE = 2, 3  # of the IP header
TIMESTAMP_BYTES = 12
TCP_CC_INFO = 26  # <linux/tcp.h>
DCTCP_INFO = "=HHIII"  # struct tcp_dctcp_info: enabled, ce_state, alpha, ab_ecn, ab_tot
MODULES = (
    "tcp_abe",
    "tcp_cut_at_once",
    "tcp_dctcp_inet",
    "tcp_limited_slow_start",
    "tcp_lsaimd",
    "tcp_prague",
)
TELLS = ("lsaimd", "prague")
LAB = "/run/sandglass/lab"
TAINT_WARN = 1 << 9  # of <linux/panic.h>
STATES = ("Open", "Disorder", "CWR", "Recovery", "Loss")


def checksum(data: bytes) -> int:
    """The Internet checksum, RFC 1071."""
    total: int = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def sack_option(blocks: list[tuple[int, int]]) -> bytes:
    """TCP option 5, RFC 2018, padded."""
    edges = b"".join(struct.pack("!II", *block) for block in blocks)
    return struct.pack("!BBBB", 1, 1, 5, 2 + len(edges)) + edges


def accurate_ecn_option(counts: list[int]) -> bytes:
    """The option of Accurate ECN with three counts of bytes, padded; RFC 9768, section 3.2.3."""
    first = (1, 0, 1)  # where they begin
    numbers = [(count + start) & 0xFFFFFF for count, start in zip(counts, first, strict=True)]
    text = b"".join(number.to_bytes(3, "big") for number in numbers)
    return struct.pack("!BBB", 1, ACCURATE_ECN, 2 + len(text)) + text


class Connection:
    """A socket of the kernel's, and the peer that it talks to."""

    def __init__(self, frames: socket.socket, script: dict[str, Any]) -> None:
        self.frames = frames
        self.timestamps = script["timestamps"]
        self.cc = script["cc"]
        self.marked: int | None = None  # packets counted by the peer, with Accurate ECN
        self.ecn: list[int] = []  # of the frames that were not reported yet
        self.start = time.monotonic()
        self.echoed: dict[int, int] = {}  # first timestamp of each segment
        self.last_timestamp = 0
        self.highest = -1  # of the segments that were sent
        self.zero: int | None = None  # the sender's first sequence number of data
        self.own_segments = 0  # of data that the peer has sent
        self.acknowledged = 0  # segments that its last one acknowledged
        self.acks: list[tuple[int, str]] = []  # pure ACKs that were not reported yet
        self.socket = tcp.open_socket("sender")
        self.socket.setblocking(False)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 22)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        tcp.set_congestion_control(self.socket, script["cc"])
        self.socket.connect_ex((PEER, PORT))
        self.own_port = self.socket.getsockname()[1]
        self.take()
        time.sleep(2 * HALF_RTT_S)
        mss = SEGMENT + (TIMESTAMP_BYTES if self.timestamps else 0)
        options = struct.pack("!BBHBBBBBB", 2, 4, mss, 4, 2, 1, 3, 3, WINDOW_SCALE) + b"\1\1"
        if script["ecn"] == "accurate":
            self.send(0, SYN | ACK, options, sequence=FIRST, ace=SYN_ECHO[self.ecn[0]])
            self.marked = 0
        else:
            flags = SYN | ACK | (ECE if script["ecn"] else 0)
            self.send(0, flags, options, sequence=FIRST)
        self.take()
        self.acks = []

    def take(self) -> list[tuple[int, str, int]]:
        """The segments that the kernel sent: (first segment, flags, ms); takes in their stamps."""
        sent: list[tuple[int, str, int]] = []
        while True:
            try:
                frame, address = self.frames.recvfrom(2048)
            except BlockingIOError:
                return sent
            if address[2] == OUTGOING or address[1] != ETHERTYPE_IP:
                continue
            header = frame[34:]
            self.ecn.append(frame[15] & 3)
            sequence, acknowledged, flags = struct.unpack("!4xIIxB", header[:14])
            data = struct.unpack("!H", frame[16:18])[0] - 20 - (header[12] >> 4) * 4
            if self.zero is None:
                self.zero = sequence + 1
            segment = (sequence - self.zero & 0xFFFFFFFF) // SEGMENT
            if self.timestamps and header[22] == 8:  # after two NOPs
                self.last_timestamp = struct.unpack("!I", header[24:28])[0]
                self.echoed.setdefault(segment, self.last_timestamp)
            if data:
                self.highest = max(self.highest, segment)
                at_ms = round((time.monotonic() - self.start) * 1000)
                sent.append((segment, "C" if flags & CWR else "", at_ms))
            elif not flags & SYN:
                of_peer = (acknowledged - FIRST - 1 & 0xFFFFFFFF) // SEGMENT
                self.acks.append((of_peer, "E" if flags & ECE else ""))

    def send(
        self,
        segments: int,
        flags: int,
        options: bytes = b"",
        sequence: int | None = None,
        echo: int | None = None,
        window: int = LARGEST_WINDOW,
        data: bytes = b"",
        ecn: int = 0,
        ace: int | None = None,
    ) -> None:
        """A segment of the peer's that acknowledges `segments` segments."""
        assert self.zero is not None
        if self.timestamps:
            now = int(time.monotonic() * 1000) & 0xFFFFFFFF
            stamp = self.last_timestamp if echo is None else self.echoed[echo]
            options = struct.pack("!BBBBII", 1, 1, 8, 10, now, stamp) + options
        if sequence is None:
            sequence = FIRST + 1 + self.own_segments * SEGMENT & 0xFFFFFFFF
        self.acknowledged = segments
        number = self.zero + segments * SEGMENT & 0xFFFFFFFF
        offset = (5 + len(options) // 4) << 4
        if ace is None and self.marked is not None:
            ace = FIRST_COUNT + self.marked & 7
        if ace is not None:
            offset |= AE if ace & 4 else 0
            flags |= (CWR if ace & 2 else 0) | (ECE if ace & 1 else 0)
        text = struct.pack(
            "!HHIIBBHHH", PORT, self.own_port, sequence, number, offset, flags, window, 0, 0
        )
        text += options + data
        ends = socket.inet_aton(PEER) + socket.inet_aton(SENDER)
        total = checksum(ends + struct.pack("!BBH", 0, socket.IPPROTO_TCP, len(text)) + text)
        text = text[:16] + struct.pack("!H", total) + text[18:]
        ip = struct.pack("!BBHIBBH", 0x45, ecn, 20 + len(text), 0, 64, socket.IPPROTO_TCP, 0) + ends
        ip = ip[:10] + struct.pack("!H", checksum(ip)) + ip[12:]
        self.frames.send(MAC["sender"] + MAC["peer"] + struct.pack("!H", ETHERTYPE_IP) + ip + text)

    def acknowledge(self, segments: int | None, given: dict[str, Any]) -> None:
        """An ACK with the options of a step."""
        if segments is None or segments < 0:
            segments = self.highest + 1 + (segments or 0)
        assert self.zero is not None
        blocks = [
            tuple(self.zero + edge * SEGMENT & 0xFFFFFFFF for edge in block)
            for block in given.get("sack", [])
        ]
        options = sack_option(blocks) if blocks else b""
        if "bytes" in given:
            options += accurate_ecn_option(given["bytes"])
        self.marked = given.get("ce", self.marked)
        flags = ACK | (ECE if given.get("ece") else 0)
        window = LARGEST_WINDOW
        if "window" in given:
            window = -(-given["window"] * SEGMENT >> WINDOW_SCALE)
        self.send(segments, flags, options, echo=given.get("echo"), window=window)

    def step(self, operation: str, *words: Any) -> dict[str, Any]:
        """Carry out one operation; returns its entry."""
        entry: dict[str, Any] = {}
        sent: list[tuple[int, str, int]] = []
        if operation == "wait":
            time.sleep(words[0] / 1000)
        elif operation == "next":
            for _ in range(10_000):
                time.sleep(0.001)
                if sent := self.take():
                    break
        elif operation == "write":
            self.socket.sendall(bytes(words[0] * SEGMENT))
        elif operation == "ack":
            self.acknowledge(*words)
        elif operation == "data":
            count, given = words
            for _ in range(count):
                ecn = CE if given.get("ce") else ECT
                self.send(self.acknowledged, ACK, data=bytes(SEGMENT), ecn=ecn)
                self.own_segments += 1
        elif operation == "cc":
            tcp.set_congestion_control(self.socket, words[0])
        elif operation in ("tc", "ip"):
            kernel.run([operation, *words[0].split()], "sender")
        elif operation == "sysctl":
            entry["refused"] = write_sysctl(*words)
        sent += self.take()
        acks, self.acks = self.acks, []
        fields, self.ecn = self.ecn, []
        info = tcp.info(self.socket)
        name = tcp.congestion_control(self.socket)
        if self.cc == "prague":
            entry |= {"cc": name, "ecn": fields}
        return entry | {
            "info": self.socket.getsockopt(socket.IPPROTO_TCP, TCP_CC_INFO, 64).hex()
            if name.startswith(TELLS)
            else None,
            "alpha": dctcp_alpha(self.socket) if name.startswith("dctcp") else None,
            "acks": acks,
            "cwnd": info["snd_cwnd"],
            "ssthresh": info["snd_ssthresh"],
            "state": STATES[info["ca_state"]],
            "sent": sent,
        }


def dctcp_alpha(connection: socket.socket) -> int | None:
    """alpha as struct tcp_dctcp_info has it; None without a DCTCP."""
    size = struct.calcsize(DCTCP_INFO)
    raw = connection.getsockopt(socket.IPPROTO_TCP, TCP_CC_INFO, size)
    if len(raw) < size:
        return None
    enabled, _, alpha, _, _ = struct.unpack(DCTCP_INFO, raw)
    return alpha if enabled else None


def write_sysctl(name: str, value: object) -> str | None:
    """Write a sysctl of the sender's namespace; returns the name of the error, if any."""
    try:
        with kernel.namespace("sender"), Path(kernel.sysctl_path(name)).open("w") as file:
            file.write(str(value))
    except OSError as error:
        return errno.errorcode[error.errno or 0]
    return None


MAC: dict[str, bytes] = {}


def build() -> socket.socket:
    """The two namespaces and their link; returns the socket on the peer's end."""
    for name in ("sender", "peer"):
        kernel.create_namespace(name)
    kernel.run(
        ["ip", "link", "add", "s", "netns", "sender", "type", "veth", "peer", "p", "netns", "peer"]
    )
    for name, device in (("sender", "s"), ("peer", "p")):
        kernel.run(["ip", "link", "set", device, "up"], name)
        with Rtnetlink(name) as link:
            interfaces.offloads_off(link, device)
        text = kernel.run(["ip", "-j", "link", "show", device], name)
        MAC[name] = bytes.fromhex(json.loads(text)[0]["address"].replace(":", ""))
    peer = MAC["peer"].hex(":")
    kernel.run(["ip", "address", "add", f"{SENDER}/24", "dev", "s"], "sender")
    kernel.run(["ip", "neighbour", "add", PEER, "lladdr", peer, "dev", "s"], "sender")
    with kernel.namespace("peer"):
        frames = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETHERTYPE_IP))
    frames.bind(("p", ETHERTYPE_IP))
    frames.setblocking(False)
    frames.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 22)
    return frames


def play(frames: socket.socket, script: dict[str, Any]) -> list[dict[str, Any]]:
    """Play one script on a connection of its own; returns its trace."""
    before = {name: kernel.read_sysctl(name, "sender") for name in script["sysctls"]}
    for name, value in script["sysctls"].items():
        kernel.write_sysctl(name, value, "sender")
    kernel.write_sysctl("net.ipv4.tcp_timestamps", int(script["timestamps"]), "sender")
    # A timer of up to 262 s rounds as its time modulo 4096 ticks says, so all scripts begin alike.
    kernel.sleep_until((time.monotonic_ns() // ROUNDING_NS + 1) * ROUNDING_NS + HALF_TICK_NS)
    connection = Connection(frames, script)
    trace = [connection.step(*step) for step in script["steps"]]
    connection.socket.close()
    connection.take()
    for name, value in before.items():
        kernel.write_sysctl(name, value, "sender")
    return trace


def main(directory: Path) -> None:
    kernel.sleep_exactly()
    scripts = json.loads((directory / "scripts.json").read_text())
    there = [name for name in MODULES if name in modules.offered(LAB)]
    kernel.run(["modprobe", "-C", "/dev/null", "-d", LAB, "-a", *there])
    frames = build()
    kernel.write_sysctl("net.ipv4.tcp_ecn", 1, "sender")
    kernel.write_sysctl("net.ipv4.tcp_no_metrics_save", 1, "sender")
    traces = {name: play(frames, script) for name, script in scripts.items()}
    (directory / "traces.json").write_text(json.dumps(traces))
    if int(Path("/proc/sys/kernel/tainted").read_text()) & TAINT_WARN:
        raise SystemExit("the kernel has warned")
    # Fails if a socket has not given its module back.
    kernel.run(["modprobe", "-C", "/dev/null", "-d", LAB, "-r", *there])


if __name__ == "__main__":
    main(Path(sys.argv[1]))
