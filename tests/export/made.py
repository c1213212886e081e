"""Runs that no lab has made: what they hold is known."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from sandglass.results import series

HOSTS = {"s1": {"address": "10.1.1.1"}, "d1": {"address": "10.2.1.1"}}
NAMES = pl.Enum(list(HOSTS))
FAMILIES = {1: 4, 2: 6}
"""The version of IP of each flow."""
PACKETS: dict[str, Any] = {
    "bottleneck": pl.Enum(["bottleneck"]),
    "direction": pl.Enum(["forward", "reverse"]),
    "enqueue_ns": pl.Int64,
    "dequeue_ns": pl.Int64,
    "drop_ns": pl.Int64,
    "sojourn_ns": pl.Int64,
    "size_bytes": pl.UInt32,
    "flow": pl.UInt16,
    "src": NAMES,
    "dst": NAMES,
    "sport": pl.UInt16,
    "dport": pl.UInt16,
    "protocol": pl.UInt8,
    "seq": pl.UInt32,
    "payload_bytes": pl.UInt32,
    "ecn_in": pl.UInt8,
    "ecn_out": pl.UInt8,
    "queue_packets": pl.UInt32,
    "queue_bytes": pl.UInt32,
    "drop": pl.Enum(["overlimit", "aqm_enqueue", "aqm_dequeue"]),
}
ACKS: dict[str, Any] = {
    "time_ns": pl.Int64,
    "src": NAMES,
    "dst": NAMES,
    "sport": pl.UInt16,
    "dport": pl.UInt16,
    "bytes_acked": pl.UInt64,
    "flow": pl.UInt16,
    "cwnd_packets": pl.UInt32,
    "srtt_us": pl.UInt32,
}
USUAL: dict[str, Any] = {
    "bottleneck": "bottleneck",
    "direction": "forward",
    "enqueue_ns": 0,
    "dequeue_ns": None,
    "drop_ns": None,
    "drop": None,
    "flow": 1,
    "src": "s1",
    "dst": "d1",
    "sport": 40000,
    "dport": 5001,
    "protocol": 6,
    "seq": 0,
    "payload_bytes": 0,
    "size_bytes": 66,
    "ecn_in": 0,
    "ecn_out": 0,
    "queue_packets": 0,
    "queue_bytes": 0,
}


def packet(**columns: Any) -> dict[str, Any]:
    """A row of packets.parquet; what is not said of it is usual."""
    row = USUAL | columns
    left = row["dequeue_ns"]
    return row | {"sojourn_ns": None if left is None else left - row["enqueue_ns"]}


def run(
    directory: Path,
    packets: Sequence[Mapping[str, Any]] | None,
    acks: Sequence[Mapping[str, Any]] | None = None,
    headers: Sequence[bytes] | None = None,
    *,
    duration_ns: int = 10**9,
) -> series.Run:
    """A run with one bottleneck of 10 Mb/s and these records; None where there are none."""
    directory.mkdir(parents=True, exist_ok=True)
    link = {"rate_bps": 10_000_000, "queue": {"kind": "codel"}}
    plan = {
        "bottlenecks": {"bottleneck": {"recorded": True, "forward": link, "reverse": link}},
        "duration_ns": duration_ns,
        "flows": [{"id": number, "family": family} for number, family in FAMILIES.items()],
    }
    document = {
        "format": series.FORMAT,
        "title": "made up",
        "seed": 1,
        "digest": "0" * 64,
        "observed": {"hosts": HOSTS, "rtt_ms": {"s1-d1": 40.0}},
        "flows": [{"from": "s1", "to": "d1"}],
        "kernel": {"release": "6"},
        "tools": {"sandglass": "1"},
    }
    (directory / "plan.json").write_text(json.dumps(plan))
    (directory / "run.json").write_text(json.dumps(document))
    if headers is not None:
        table = pl.DataFrame({"header": headers}, {"header": pl.Binary})
        table.write_parquet(directory / "headers.parquet")
    for name, rows, schema in (("packets", packets, PACKETS), ("acks", acks, ACKS)):
        if rows is not None:
            pl.DataFrame(rows, schema, orient="row").write_parquet(directory / f"{name}.parquet")
    return series.load(directory, {})
