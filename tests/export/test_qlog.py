"""Senders as qlog: what is read of the file is what the run recorded."""

import json
from pathlib import Path

import polars as pl
import pytest

from sandglass.errors import SandglassError
from sandglass.records import qlog as reading
from sandglass.results import series
from sandglass.results.export import qlog
from tests.lab.experiments import Lab, Run, bulk, dumbbell

pytestmark = pytest.mark.lab
QUEUE = {"kind": "pfifo", "limit": 40}


@pytest.fixture
def run(lab: Lab) -> Run:
    """Two flows of TCP that lose packets."""
    return lab(dumbbell(bulk(cc="reno"), bulk("s2", "d2"), queue=QUEUE, pairs=2, duration="4s"))


def test_a_trace_of_tcp_tells_what_acks_has(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "run.qlog"
    assert qlog.write(series.load(run.path, {}), file) == 2
    told = json.loads(file.read_text())
    assert [trace["title"] for trace in told["traces"]] == [
        "1: s1 to d1, reno",
        "2: s2 to d2, cubic",
    ]
    size = run.packets(flow=1)["payload_bytes"].max()
    for number, trace in enumerate(reading.traces(file.read_bytes()), 1):
        acks = run.table("acks").filter(pl.col("flow") == number)
        last, recorded = trace.rows[-1], acks.row(-1, named=True)
        assert last["cwnd_bytes"] == recorded["cwnd_packets"] * size
        assert last["ssthresh_bytes"] == recorded["ssthresh_packets"] * size
        assert last["inflight_bytes"] == recorded["inflight_packets"] * size
        assert last["srtt_us"] == recorded["srtt_us"]
        assert last["min_rtt_us"] == recorded["min_rtt_us"]
        assert last["lost_packets"] == recorded["lost_packets"] > 0
        assert last["state"] == recorded["ca_state"].lower()
        times = {round(row["time_ms"] * 1e6) for row in trace.rows}
        assert times <= {*acks["time_ns"]}


def test_a_run_without_senders_is_told(lab: Lab, tmp_path: Path) -> None:
    bare = lab(dumbbell(bulk(), queue=QUEUE, duration="1s", record=["packets"]))
    with pytest.raises(SandglassError, match="recorded no sender"):
        qlog.write(series.load(bare.path, {}), tmp_path / "run.qlog")
    assert not (tmp_path / "run.qlog").exists()
