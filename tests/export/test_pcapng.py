"""Captures: every byte that is recorded is in them, and none that is wrong."""

import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandglass.agent import ipv6
from sandglass.errors import SandglassError, UsageError
from sandglass.results.export import capture, pcapng
from sandglass.results.export.point import Point
from tests.export import made, reader
from tests.export.made import packet

FIN, SYN, ACK = 1, 2, 16
OVERHEAD = {(4, 17): 42, (6, 17): 62, (4, 1): 34, (6, 58): 54}
BACK = {"direction": "reverse", "src": "d1", "dst": "s1", "sport": 5001, "dport": 40000}


def exported(
    directory: Path, packets: list[dict[str, Any]], acks: Any = None, at: Point = Point.ARRIVAL
) -> reader.Capture:
    """What a reader finds in the capture of a run with these records."""
    run = made.run(directory / "run", packets, acks)
    file = directory / "run.pcapng"
    count = pcapng.write(run, file, at)
    capture = reader.read(file)
    assert count == len(capture.frames)
    return capture


@st.composite
def packets(draw: st.DrawFn) -> dict[str, Any]:
    """A packet of any kind, and what became of it."""
    family = draw(st.sampled_from([4, 6]))
    protocol = draw(st.sampled_from([6, 17, 1 if family == 4 else 58]))
    payload = draw(st.integers(0, 1400)) if protocol in (6, 17) else 0
    ports = st.integers(2, 65535) if protocol in (6, 17) else st.just(0)
    if protocol == 6:  # a connection of IPv4 that had 20 more bytes in each header is none
        overhead = 14 + {4: 20, 6: 40}[family] + draw(st.sampled_from([20, 32, 36]))
    else:
        overhead = OVERHEAD[family, protocol]
    arrival, wait = draw(st.integers(0, 2**40)), draw(st.integers(0, 10**9))
    fate = draw(st.sampled_from(["dequeue_ns", "drop_ns", None]))
    ecn = draw(st.integers(0, 3))
    flow = next(flow for flow, planned in made.FAMILIES.items() if planned == family)
    return packet(
        flow=draw(st.sampled_from([0, flow])),
        **{"enqueue_ns": arrival} | ({fate: arrival + wait} if fate else {}),
        drop=draw(st.sampled_from(["overlimit", "aqm_dequeue"])) if fate == "drop_ns" else None,
        size_bytes=overhead + payload,
        payload_bytes=payload,
        protocol=protocol,
        sport=draw(ports) // 2 * 2 + (family == 6) if protocol in (6, 17) else 0,
        dport=draw(ports),
        seq=draw(st.integers(0, 2**32 - 1)) if protocol == 6 else draw(st.integers(0, 65535)),
        ecn_in=ecn,
        ecn_out=draw(st.sampled_from([ecn, 3])) if fate == "dequeue_ns" else ecn,
        queue_packets=draw(st.integers(0, 100)),
    ) | {"family": family}


@given(st.lists(packets(), min_size=1, max_size=20), st.sampled_from(Point))
def test_a_frame_says_what_was_recorded(
    tmp_path_factory: pytest.TempPathFactory, rows: list[dict[str, Any]], at: Point
) -> None:
    families = [row.pop("family") for row in rows]
    capture = exported(tmp_path_factory.mktemp("run"), rows, at=at)
    seen = []
    for row, family in zip(rows, families, strict=True):
        left = row["dequeue_ns"] if row["dequeue_ns"] is not None else row["drop_ns"]
        time = row["enqueue_ns"] if at is Point.ARRIVAL else left
        ecn = row["ecn_in"] if at is Point.ARRIVAL else row["ecn_out"]
        if time is not None:
            seen.append((time, family, ecn, row))
    told = []
    for frame in capture.frames:
        found = reader.headers(frame.data)
        assert found.ip_bytes == frame.size - 14
        told.append((frame.time_ns, found, frame))
    assert [time for time, *_ in told] == sorted(time for time, *_ in seen)
    assert len(told) == len(seen)
    unmatched = list(told)
    for time, family, ecn, row in seen:
        wanted = (time, expected(row, family, ecn), row["size_bytes"], comment(row))
        match = next(
            one
            for one in unmatched
            if (one[0], said(one[1]), one[2].size, one[2].comment) == wanted
        )
        check_checksum(match[2], row)
        unmatched.remove(match)


def said(found: reader.Headers) -> tuple[Any, ...]:
    """What the headers tell of a packet's kind."""
    ports = struct.unpack_from(">HH", found.l4) if len(found.l4) >= 8 else (0, 0)
    seq = struct.unpack_from(">I", found.l4, 4)[0] if found.protocol == 6 else None
    return found.version, found.src, found.dst, found.protocol, found.ecn, *ports, seq


def expected(row: dict[str, Any], family: int, ecn: int) -> tuple[Any, ...]:
    """The same of a row."""
    addresses = [made.HOSTS[row[end]]["address"] for end in ("src", "dst")]
    if family == 6:
        addresses = [ipv6.address(address) for address in addresses]
    seq = row["seq"] if row["protocol"] == 6 else None
    return family, *addresses, row["protocol"], ecn, row["sport"], row["dport"], seq


def comment(row: dict[str, Any]) -> str:
    """What is told of a packet's time in the queue."""
    if row["dequeue_ns"] is None and row["drop_ns"] is None:
        return "still in the queue at the end"
    left = row["drop_ns"] if row["dequeue_ns"] is None else row["dequeue_ns"]
    waited = left - row["enqueue_ns"]
    ms = f"{waited // 10**6}.{waited % 10**6:06} ms"
    if row["drop"]:
        return f"dropped ({row['drop']}) after {ms}"
    return f"CE mark, sojourn {ms}" if row["ecn_out"] == 3 != row["ecn_in"] else f"sojourn {ms}"


def check_checksum(frame: reader.Frame, row: dict[str, Any]) -> None:
    """That of TCP and UDP holds for a payload of zeros, and lengths are right."""
    l4 = reader.headers(frame.data).l4
    if row["protocol"] == 6:
        assert len(l4) == l4[12] >> 4 << 2
    elif row["protocol"] == 17:
        assert struct.unpack_from(">H", l4, 4) == (8 + row["payload_bytes"],)
    else:
        assert l4 == b""
        return
    assert reader.with_pseudo_header(frame.data, len(l4) + row["payload_bytes"]) == 0xFFFF


def flags(frame: reader.Frame) -> tuple[int, int]:
    """Flags and acknowledgement number of a segment."""
    l4 = reader.headers(frame.data).l4
    return l4[13], struct.unpack_from(">I", l4, 8)[0]


def test_a_connection_opens_acknowledges_and_closes(tmp_path: Path) -> None:
    first, other, end = 2**32 - 1000, 7000, 2**32 - 1000 + 1 + 2896
    data = {"size_bytes": 1514, "payload_bytes": 1448}
    rows = [
        packet(enqueue_ns=0, dequeue_ns=0, seq=first, size_bytes=74),
        packet(**BACK, enqueue_ns=100, dequeue_ns=100, seq=other, size_bytes=74),
        packet(enqueue_ns=200, dequeue_ns=200, seq=first + 1),
        packet(enqueue_ns=200, dequeue_ns=300, seq=first + 1, queue_packets=1, **data),
        packet(enqueue_ns=200, dequeue_ns=400, seq=(first + 1449) % 2**32, queue_packets=2, **data),
        packet(enqueue_ns=200, dequeue_ns=500, seq=end % 2**32, queue_packets=3),
        packet(**BACK, enqueue_ns=900_000, dequeue_ns=900_000, seq=other + 1),
        packet(**BACK, enqueue_ns=950_000, dequeue_ns=950_000, seq=other + 1),
        packet(enqueue_ns=10**6, dequeue_ns=10**6, seq=(end + 1) % 2**32),
    ]
    # 5 ms from the queue to the sender, besides the transmission at 10 Mb/s
    sender = {"src": "s1", "dst": "d1", "sport": 40000, "dport": 5001}
    acks = [
        {"time_ns": 900_000 + 52_800 + 5_000_000, "bytes_acked": 1, **sender},
        {"time_ns": 950_000 + 52_800 + 5_000_000, "bytes_acked": 1449, **sender},
    ]
    capture = exported(tmp_path, rows, acks)
    assert [flags(frame) for frame in capture.frames] == [
        (SYN, 0),
        (SYN | ACK, (first + 1) % 2**32),
        (ACK, other + 1),
        (ACK, other + 1),
        (ACK, other + 1),
        (FIN | ACK, other + 1),
        (ACK, (first + 1449) % 2**32),
        (0, 0),  # what this one brought about is not recorded: no row of acks tells
        (ACK, other + 1),
    ]


@pytest.mark.parametrize("at", Point)
@pytest.mark.parametrize("family", [4, 6])
def test_recorded_headers_are_taken_as_they_are(tmp_path: Path, family: int, at: Point) -> None:
    row = packet(enqueue_ns=0, size_bytes=66 if family == 4 else 86, seq=9, ecn_in=2)
    row["flow"] = 1 if family == 4 else 2
    rebuilt = tmp_path / "rebuilt.pcapng"
    pcapng.write(made.run(tmp_path / "source", [row]), rebuilt, Point.ARRIVAL)
    [frame] = reader.read(rebuilt).frames
    segment = bytes(range(12, 12 + 12)) + b"\x80\x12\x34\x56" + bytes(range(16))
    header = frame.data[14 : 34 if family == 4 else 54] + segment

    marked = [
        row | {"dequeue_ns": 7, "ecn_out": 3},
        packet(enqueue_ns=1, dequeue_ns=8, protocol=0, src=None, dst=None, sport=0, dport=0),
    ]
    run = made.run(tmp_path / "run", marked, headers=[header, b""])
    pcapng.write(run, tmp_path / "run.pcapng", at)
    first, other = reader.read(tmp_path / "run.pcapng").frames
    assert other.data == bytes(12) + b"\x88\xb5"
    found = reader.headers(first.data)  # which checks the checksum of IPv4
    assert (found.version, found.l4) == (family, segment)
    assert found.ecn == (2 if at is Point.ARRIVAL else 3)
    if at is Point.ARRIVAL:
        assert first.data[14:] == header


@pytest.mark.parametrize("at", Point)
@pytest.mark.parametrize(
    ("version", "row"),
    [
        (6, {"protocol": 17, "payload_bytes": 1400, "size_bytes": 14 + 56 + 1400}),
        (4, {"protocol": 6, "size_bytes": 14 + 60}),
        (4, {"protocol": 17, "payload_bytes": 100, "size_bytes": 14 + 48 + 100}),
        (6, {"protocol": 132, "sport": 0, "dport": 0, "size_bytes": 14 + 56}),
    ],
    ids=["first fragment", "SYN alone", "options of IPv4", "SCTP"],
)
def test_recorded_headers_tell_the_version_of_ip(
    tmp_path: Path, version: int, row: dict[str, Any], at: Point
) -> None:
    header = bytes([0x45 if version == 4 else 0x60]) + bytes(range(1, 56))
    if version == 4:  # of no packet, but the sum is right
        header = header[:10] + bytes(2) + header[12:]
        header = (
            header[:10] + (reader.folded(header[:20]) ^ 0xFFFF).to_bytes(2, "big") + header[12:]
        )
    came = header[1] & 3 if version == 4 else header[1] >> 4 & 3
    row |= {"flow": 0, "ecn_in": came, "ecn_out": came}
    run = made.run(tmp_path / "run", [packet(dequeue_ns=5, **row)], headers=[header])
    pcapng.write(run, tmp_path / "run.pcapng", at)
    [frame] = reader.read(tmp_path / "run.pcapng").frames
    assert frame.data[12:] == (b"\x08\x00" if version == 4 else b"\x86\xdd") + header


@pytest.mark.parametrize(
    ("flow", "row", "version"),
    [
        (2, {"protocol": 17, "payload_bytes": 1400, "size_bytes": 14 + 56 + 1400}, 6),
        (1, {"protocol": 17, "payload_bytes": 100, "size_bytes": 14 + 48 + 100}, 4),
        (1, {"protocol": 6, "size_bytes": 14 + 60}, 4),
        (2, {"protocol": 132, "sport": 0, "dport": 0, "size_bytes": 14 + 56}, 6),
        (2, {"protocol": 6, "size_bytes": 14 + 52}, 4),
        (2, {"protocol": 1, "sport": 0, "dport": 0, "size_bytes": 98}, 4),
        (0, {"protocol": 17, "payload_bytes": 1400, "size_bytes": 14 + 56 + 1400}, 6),
    ],
)
def test_else_the_flow_tells_it_where_there_is_room(
    tmp_path: Path, flow: int, row: dict[str, Any], version: int
) -> None:
    [frame] = exported(tmp_path, [packet(flow=flow, **row)]).frames
    assert frame.data[12:14] == (b"\x08\x00" if version == 4 else b"\x86\xdd")


@pytest.mark.parametrize("count", [0, 1, 3])
def test_headers_of_other_packets_are_refused(tmp_path: Path, count: int) -> None:
    run = made.run(tmp_path / "run", [packet(), packet()], headers=[b""] * count)
    with pytest.raises(SandglassError, match=f"headers.parquet has {count} rows, packets"):
        pcapng.write(run, tmp_path / "run.pcapng", Point.ARRIVAL)


def test_what_leaves_and_what_is_dropped_are_apart(tmp_path: Path) -> None:
    rows = [
        packet(enqueue_ns=5, dequeue_ns=10),
        packet(enqueue_ns=6, drop_ns=6, drop="overlimit"),
        packet(enqueue_ns=7),
        packet(**BACK, enqueue_ns=8, dequeue_ns=9),
        packet(enqueue_ns=-3, dequeue_ns=-2),
    ]
    arriving = exported(tmp_path / "a", rows)
    assert arriving.interfaces == ["bottleneck forward", "bottleneck reverse"]
    assert [(frame.interface, frame.time_ns) for frame in arriving.frames] == [
        *[(0, 5), (0, 6), (0, 7), (1, 8)]
    ]
    leaving = exported(tmp_path / "d", rows, at=Point.DEPARTURE)
    assert leaving.interfaces == [
        *["bottleneck forward", "bottleneck forward dropped"],
        *["bottleneck reverse", "bottleneck reverse dropped"],
    ]
    assert [(frame.interface, frame.time_ns) for frame in leaving.frames] == [
        *[(1, 6), (2, 9), (0, 10)]
    ]
    assert leaving.hosts["10.1.1.1"] == leaving.hosts["fd00::a01:101"] == "s1"


def test_of_what_is_not_recorded_nothing_is_told(tmp_path: Path) -> None:
    rows = [
        packet(enqueue_ns=1, protocol=0, sport=0, dport=0, src=None, dst=None, size_bytes=60),
        packet(enqueue_ns=2, protocol=17, sport=0, dport=0, seq=77, size_bytes=500),
    ]
    other, fragment = exported(tmp_path, rows).frames
    assert other.data == bytes(12) + b"\x88\xb5"
    assert other.size == 60
    assert reader.headers(fragment.data).l4 == b""
    assert fragment.data[18:20] == (77).to_bytes(2, "big")


@given(st.lists(st.integers(10_000, 10**7), min_size=1, max_size=200), st.data())
def test_packets_that_take_the_same_time_are_known_by_their_arrival(
    gaps: list[int], data: st.DataObject
) -> None:
    left = np.cumsum(gaps)
    # The first one arrives; of the others some do, and all by some roundings.
    later = data.draw(st.sets(st.integers(0, len(left) - 1)))
    chosen = np.array(sorted({0, *later}))
    way = data.draw(st.integers(1, 10_000 * capture.CANDIDATES // 2))
    roundings = data.draw(st.lists(st.integers(0, 500), min_size=len(chosen), max_size=len(chosen)))
    reached = left[chosen] + way + np.array(roundings)
    assert capture.first_at(left, reached).tolist() == chosen.tolist()


def test_packets_that_take_different_times_are_not_known() -> None:
    left = np.arange(200) * 10**6
    reached = np.sort(left + np.random.default_rng(1).integers(0, 10**6, 200))
    assert (capture.first_at(left, reached) == -1).all()
    assert (capture.first_at(left, left[:0]) == -1).all()


def test_without_packets_there_is_no_file(tmp_path: Path) -> None:
    file = tmp_path / "run.pcapng"
    with pytest.raises(SandglassError, match=r"packets\.parquet is missing") as caught:
        pcapng.write(made.run(tmp_path / "run", None), file, Point.ARRIVAL)
    assert caught.value.hint
    assert "record packets" in caught.value.hint
    with pytest.raises(SandglassError, match="holds no packet"):
        pcapng.write(made.run(tmp_path / "empty", []), file, Point.ARRIVAL)
    with pytest.raises(UsageError, match="is a directory"):
        pcapng.write(made.run(tmp_path / "run", [packet()]), tmp_path, Point.ARRIVAL)
    assert not list(tmp_path.glob("*.pcapng*")) + list(tmp_path.glob(".*"))
