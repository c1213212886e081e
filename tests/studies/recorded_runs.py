"""Runs that no lab made: directories with what the pictures of several runs read."""

import json
from pathlib import Path
from typing import Any

import polars as pl

DURATION_S = 10
FLOWS = {1: "cubic", 2: "reno"}
SIZES = {1: 20_000, 2: None}
"""The second has none, and no completion time."""


def write(directory: Path, delay_ms: float, seed: int = 1) -> Path:
    """A run of two flows, a packet of each every 10 ms; the second's wait twice as long."""
    directory.mkdir(parents=True)
    times = pl.int_range(0, DURATION_S * 10**9, 10**7, eager=True)
    packets = pl.concat(
        pl.DataFrame({"dequeue_ns": times}).with_columns(
            bottleneck=pl.lit("bottleneck"),
            direction=pl.lit("forward"),
            flow=pl.lit(flow, pl.UInt16),
            sojourn_ns=pl.lit(int(delay_ms * flow * 1e6), pl.Int64),
            size_bytes=pl.lit(1514, pl.UInt32),
            payload_bytes=pl.lit(1448, pl.UInt32),
        )
        for flow in FLOWS
    )
    packets.write_parquet(directory / "packets.parquet")
    packets.select("flow", time_ns="dequeue_ns", cwnd_packets=pl.col("flow") * 10).write_parquet(
        directory / "acks.parquet"
    )
    pl.DataFrame({"flow": [1, 2], "fct_s": [delay_ms / 10, None]}).write_parquet(
        directory / "flows.parquet"
    )
    flows = [{"id": flow, "workload": "bulk", "size_bytes": size} for flow, size in SIZES.items()]
    (directory / "plan.json").write_text(json.dumps({"flows": flows}))
    (directory / "run.json").write_text(json.dumps(document(seed)))
    return directory


def document(seed: int = 1) -> dict[str, Any]:
    """A run.json."""
    return {
        "format": 1,
        "experiment": {"duration": f"{DURATION_S}s"},
        "seed": seed,
        "kernel": {"release": "6.12.0", "build": "aa11", "modules": {}},
        "lab_build": "bb22",
        "commit": "cc33",
        "bottlenecks": {"bottleneck": {}},
        "flows": [
            {"id": flow, "workload": "bulk", "from": f"s{flow}", "to": f"d{flow}", "cc": cc}
            for flow, cc in FLOWS.items()
        ],
        "virtual_s": DURATION_S,
        "wall_s": 0.5,
        "digest": f"{seed:064x}",
    }
