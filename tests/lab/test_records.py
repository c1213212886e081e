"""The recorder's records as tables, of records that no lab has made."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from sandglass.errors import SandglassError
from sandglass.records import records

CLIENT, SERVER = 1, 2
NAMES = records.Names(
    hosts={CLIENT: "c", SERVER: "s"},
    watches=[],
    cc={},
    flows=[(1, "s", "c", 80, 4001), (1, "s", "c", 80, 4002), (2, "c", "s", 9, 9)],
    mtu=1500,
)


def acks(*rows: tuple[int, int, int, int]) -> records.Records:
    """Records of (ms, host that sends, client's port, bytes acknowledged to it)."""
    made = np.zeros(len(rows), records.ACK)
    for record, (ms, host, port, acked) in zip(made, rows, strict=True):
        own, there = (SERVER, 80), (CLIENT, port)
        if port == 9:
            own, there = (SERVER, 9), (CLIENT, 9)
        if host == CLIENT:
            own, there = there, own
        record["time_ns"], record["bytes_acked"] = ms * 10**6, acked
        (record["src"], record["sport"]), (record["dst"], record["dport"]) = own, there
    return made


def test_goodput_is_the_sum_over_a_flows_connections_of_their_senders() -> None:
    """Two connections of one flow, on each of which the client asks first; and another flow."""
    table = records.goodput(
        acks(
            *[(1, CLIENT, 4001, 1), (2, CLIENT, 4001, 200), (3, SERVER, 4001, 1)],
            *[(4, SERVER, 4001, 5000), (11, CLIENT, 9, 70), (12, CLIENT, 4002, 300)],
            *[(13, SERVER, 4002, 1000), (14, SERVER, 4001, 6000), (19, SERVER, 4001, 9000)],
            *[(31, SERVER, 4002, 1500), (32, CLIENT, 9, 90)],
        ),
        NAMES,
    )
    assert table.rows() == [
        (10_000_000, 1, 5000),
        (20_000_000, 2, 70),
        (20_000_000, 1, 10_000),
        (40_000_000, 1, 10_500),
        (40_000_000, 2, 90),
    ]
    assert table.schema == {"time_ns": pl.Int64, "flow": pl.UInt16, "bytes": pl.UInt64}


def test_without_acknowledgements_there_is_no_goodput() -> None:
    assert records.goodput(acks(), NAMES).is_empty()


def test_headers_longer_than_their_place_are_refused() -> None:
    made = np.zeros(2, records.HEADERS)
    made["length"] = 102, 40
    sizes = records.headers(made, NAMES)["header"].bin.size()
    assert sizes.to_list() == [102, 40]
    made["length"] = 103, 40
    with pytest.raises(SandglassError, match="103 bytes of headers on record, 102 at most"):
        records.headers(made, NAMES)


def test_a_file_that_ends_within_a_record_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "packets.records"
    made = np.ones(3, records.PACKET).tobytes()
    path.write_bytes(made)
    assert records.read(path, records.PACKET).tobytes() == made
    path.write_bytes(made[:-1])
    with pytest.raises(SandglassError, match="ends with 55 of the 56 bytes"):
        records.read(path, records.PACKET)
