"""What the recorder makes of a drop, from what a kernel's tracepoints tell, without a clock."""

import ctypes
import json
import struct
from pathlib import Path

import pytest

from sandglass.lab import lab as boot
from sandglass.records import records
from tests.kmods.userspace import compiled
from tests.lab.experiments import Lab, bulk, dumbbell

OVERLIMIT, ENQUEUE, DEQUEUE = 1, 2, 3


class Drop(ctypes.Structure):
    """struct drop of kmods/recorder/outcome.h."""

    _fields_ = [
        (name, ctypes.c_bool) for name in ("taken", "latest", "full", "listed", "congested")
    ]


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    return compiled("recorder", "recorder", tmp_path_factory.mktemp("library"))


@pytest.mark.parametrize(
    ("what", "told", "outcome"),
    [
        ("a tail drop", "latest full listed", OVERLIMIT),
        ("RED or PIE on arrival", "latest listed", ENQUEUE),
        ("the same on 7.2, which says so", "latest listed congested", ENQUEUE),
        ("the same while another processor's packet arrives", "listed", ENQUEUE),
        ("a reason of the qdisc's own, as of fq", "latest", ENQUEUE),
        ("pushed out by another packet's arrival", "taken listed", OVERLIMIT),
        ("CoDel up to 6.18, which frees it itself", "taken", DEQUEUE),
        ("the same packet was the last to come", "taken latest", DEQUEUE),
        ("CoDel on 7.2, freed with what arrivals drop", "taken listed congested", DEQUEUE),
        ("the same packet had met a full queue", "taken full listed congested", DEQUEUE),
        ("taken with NET_XMIT_CN, then CoDel", "full", DEQUEUE),
        ("taken with NET_XMIT_CN, then CoDel on 7.2", "full listed congested", DEQUEUE),
        ("taken with NET_XMIT_CN, then pushed out", "full listed", OVERLIMIT),
    ],
)
def test_a_drop_is_what_it_was(library: ctypes.CDLL, what: str, told: str, outcome: int) -> None:
    drop = Drop(**dict.fromkeys(told.split(), True))
    assert library.outcome_of_drop(ctypes.byref(drop)) == outcome, what


@pytest.mark.lab
def test_a_congestion_control_that_is_gone_keeps_its_name(tmp_path: Path) -> None:
    boot.run_program("kmods/recorder/tests/unload.py", tmp_path)
    assert "cc 0 reno_acks\n" in (tmp_path / "control.txt").read_text()


REAL_CLOCK_DROPS = {
    "pfifo": ("limit 30", OVERLIMIT),
    "pfifo_head_drop": ("limit 30", OVERLIMIT),
    "red": ("limit 60000 min 3000 max 9000 avpkt 1000 burst 5 probability 1", ENQUEUE),
    "codel": ("limit 1000 target 1ms interval 10ms", DEQUEUE),
}


@pytest.mark.lab
def test_drops_are_what_they_were_on_a_clock_that_never_stops(tmp_path: Path) -> None:
    options = {kind: words for kind, (words, _) in REAL_CLOCK_DROPS.items()}
    (tmp_path / "drops.json").write_text(json.dumps(options))
    boot.run_program("kmods/recorder/tests/drops.py", tmp_path, clock=())
    packets = records.read(tmp_path / "packets.bin", records.PACKET)
    for number, (kind, (_, outcome)) in enumerate(REAL_CLOCK_DROPS.items()):
        dropped = packets["outcome"][packets["watch"] == number]
        assert set(dropped[dropped != records.SENT]) == {outcome}, kind


@pytest.mark.lab
def test_acks_that_cake_filters_are_dropped_from_the_queue(lab: Lab) -> None:
    """They leave it by a function of the kernel's that is for packets which have served."""
    experiment = dumbbell(
        bulk(),
        queue={"kind": "pfifo", "limit": 100},
        reverse={"rate": "100kbit", "queue": {"kind": "cake", "ack-filter": True}},
        duration="3s",
        record=["packets"],
    )
    run = lab(experiment)
    drops = run.packets("reverse")["drop"].drop_nulls()
    assert len(drops) > 100
    assert set(drops) == {"aqm_dequeue"}
    counted = run.content["bottlenecks"]["bottleneck"]["reverse"]
    shown = next(q for q in run.qdiscs("r2") if q["kind"] == "cake")
    assert counted["drops"] == shown["drops"] == len(drops)


ETHERNET = bytes.fromhex("020000000002 020000000001")
SOURCE, DESTINATION = 0x0A000001, 0x0A000002
SPORT, DPORT, SEQ, DATA = 5001, 5002, 0x12345678, bytes(5000)
UDP = struct.pack(">HHHH", SPORT, DPORT, 8 + len(DATA), 0)
TCP = struct.pack(">HHIIBBHHH", SPORT, DPORT, SEQ, 0, 5 << 4, 0x10, 1000, 0, 0)
ECT_1, CE = 1, 3


def ipv4(ecn: int, protocol: int, carried: bytes) -> bytes:
    length = 20 + len(carried)
    begin = struct.pack(">BBHHHBBH", 0x45, ecn, length, 7, 0, 64, protocol, 0)
    return begin + struct.pack(">II", SOURCE, DESTINATION) + carried


def ipv6(ecn: int, protocol: int, carried: bytes) -> bytes:
    begin = struct.pack(">IHBB", 6 << 28 | ecn << 20, len(carried), protocol, 64)
    ends = (struct.pack(">QII", 0xFD << 56, 0, end) for end in (SOURCE, DESTINATION))
    return begin + b"".join(ends) + carried


FRAMES = [
    ETHERNET + b"\x08\x00" + ipv4(ECT_1, 17, UDP + DATA),
    ETHERNET + b"\x86\xdd" + ipv6(CE, 6, TCP + DATA),
    ETHERNET + b"\x08\x00" + ipv4(ECT_1, 17, UDP[:4]),
]


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What headers.py leaves of these frames."""
    directory = tmp_path_factory.mktemp("headers")
    (directory / "frames.json").write_text(json.dumps([frame.hex() for frame in FRAMES]))
    boot.run_program("kmods/recorder/tests/headers.py", directory)
    return directory


@pytest.mark.lab
def test_headers_are_read_where_they_lie(recorded: Path) -> None:
    """In pages, as a driver may hand a packet over, or a program by a packet socket; if at all."""
    packets = records.read(recorded / "packets.bin", records.PACKET)
    ends = [(SOURCE, DESTINATION, SPORT, DPORT)] * 2 + [(SOURCE, DESTINATION, 0, 0)]
    assert packets[["src", "dst", "sport", "dport"]].tolist() == ends
    assert packets[["protocol", "seq", "payload_bytes", "ecn_in", "ecn_out"]].tolist() == [
        (17, 7, len(DATA), ECT_1, ECT_1),
        (6, SEQ, len(DATA), CE, CE),
        (17, 7, 4, ECT_1, ECT_1),
    ]
    names = records.Names(hosts={}, watches=[], cc={}, flows=[], mtu=1500)
    headers = records.headers(records.read(recorded / "headers.bin", records.HEADERS), names)
    whole = [frame[len(ETHERNET) + 2 :] for frame in FRAMES]
    assert headers["header"].to_list() == [whole[0][:28], whole[1][:60], whole[2][:20]]


@pytest.mark.lab
def test_headers_are_those_of_all_packets_or_refused(recorded: Path) -> None:
    """Packets that came before they were asked for would be without, and the tables not match."""
    assert (recorded / "late.txt").read_text() == "EBUSY"


@pytest.mark.lab
def test_records_are_as_long_as_they_are_read(recorded: Path) -> None:
    lines = (recorded / "control.txt").read_text().splitlines()
    counts = {line.split()[0]: int(line.split()[1]) for line in lines[:4]}
    layouts = {stream: dtype for stream, dtype, _ in records.TABLES.values()}
    assert set(counts) == set(layouts)
    for stream, count in counts.items():
        assert count > 0, stream
        size = (recorded / f"{stream}.bin").stat().st_size
        assert size == count * layouts[stream].itemsize, stream
