"""Data files of flent, of runs that no lab has made."""

import gzip
import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from sandglass.errors import SandglassError
from sandglass.results import series
from sandglass.results.export import flent_data
from tests.export import made
from tests.export.made import packet


def ack(ms: int, acked: int, cwnd: int = 10, port: int = 40000, **columns: Any) -> dict[str, Any]:
    """A row of acks.parquet, of a connection from s1's `port`."""
    ends = {"src": "s1", "dst": "d1", "sport": port, "dport": 5001}
    state = {"time_ns": ms * 10**6, "bytes_acked": acked, "cwnd_packets": cwnd, "srtt_us": 40_000}
    return ends | state | {"flow": 1} | columns


def answer(ms: int, acked: int, cwnd: int, port: int) -> dict[str, Any]:
    """The same of the connection's other end."""
    return ack(ms, acked, cwnd) | {"src": "d1", "dst": "s1", "sport": 5001, "dport": port}


def written(run: series.Run) -> dict[str, Any]:
    """What is in the run's data file."""
    file = run.directory / "run.flent.gz"
    flent_data.write(run, file)
    content: dict[str, Any] = json.loads(gzip.decompress(file.read_bytes()))
    return content


def test_a_stall_is_no_throughput_and_the_last_step_as_long_as_it_is(tmp_path: Path) -> None:
    acks = [ack(250, 25_000, 12), ack(650, 50_000, 20), ack(1050, 62_500, 21)]
    content = written(made.run(tmp_path, None, acks, duration_ns=1_100_000_000))
    assert content["x_values"] == pytest.approx([0, 0.2, 0.4, 0.6, 0.8, 1, 1.1])
    steps = content["raw_values"]["TCP upload::1"]
    assert [step["t"] for step in steps] == pytest.approx([0.4, 0.6, 0.8, 1, 1.1])
    assert [step["dur"] for step in steps] == pytest.approx([0.2, 0.2, 0.2, 0.2, 0.1])
    assert [step["val"] for step in steps] == pytest.approx([1, 0, 1, 0, 1])
    assert [step["tcp_cwnd"] for step in steps] == [12, 12, 20, 20, 21]
    assert sum(step["val"] * step["dur"] for step in steps) == pytest.approx(62_500 * 8 / 1e6)
    assert content["results"]["TCP upload::1"][:2] == [None, None]
    assert content["results"]["TCP upload::1"][2:] == pytest.approx([1, 0, 1, 0, 1])


def test_of_several_connections_the_senders_count(tmp_path: Path) -> None:
    """On each the receiver asks first; it is of no account, whenever it is heard of."""
    acks = [
        *[answer(10, 300, 99, 40001), answer(20, 300, 99, 40000)],
        *[ack(30, 10_000, 12, 40000), ack(40, 15_000, 13, 40001)],
        *[ack(60, 20_000, 14, 40000), answer(70, 400, 99, 40001)],
    ]
    [step] = written(made.run(tmp_path, None, acks))["raw_values"]["TCP upload::1"]
    assert step["val"] == pytest.approx(35_000 * 8 / 0.2 / 1e6)
    assert step["tcp_cwnd"] == 14


def test_pings_that_nobody_answered_are_none(tmp_path: Path) -> None:
    run = made.run(tmp_path, [packet(dequeue_ns=5_000_000)], [ack(10, 1000)])
    echoes = {"flow": pl.UInt16, "sent_ns": pl.Int64, "rtt_ns": pl.Int64}
    pl.DataFrame([(2, 0, None)], echoes, orient="row").write_parquet(tmp_path / "rtt.parquet")
    content = written(run)
    assert content["raw_values"]["Ping (ms) ICMP"] == [{"t": 0.2, "val": 45.0}]
    assert "no ping of the run was answered" in content["metadata"]["NOTE"]
    pl.DataFrame([(2, 0, 10**6)], echoes, orient="row").write_parquet(tmp_path / "rtt.parquet")
    content = written(run)
    assert content["raw_values"]["Ping (ms) ICMP"] == [{"t": 0.0, "val": 1.0}]
    assert "round trips of flow 2" in content["metadata"]["NOTE"]


def test_a_run_without_a_round_trip_is_refused(tmp_path: Path) -> None:
    run = made.run(tmp_path, [packet(dequeue_ns=5)], [ack(10, 1000)])
    observed = dict(run.document["observed"]) | {"rtt_ms": {}}
    bare = series.Run(run.directory, {}, dict(run.document) | {"observed": observed})
    with pytest.raises(SandglassError, match=r"observed\.rtt_ms"):
        written(bare)
