"""The figures on flow startup: their reduction of runs and their metrics, worked out by hand."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from pipelines.flow_startup import pub4, transients
from sandglass.traces import Run
from tests.pipeline.synthetic import document

MS = 10**6
BURSTS = "bursts"


def made(directory: Path, *, experiment: str = "pub4-codel", seed: int = 1) -> Run:
    """Two flows; the first leaves slow start at 100 ms, the second never does."""
    directory.mkdir(parents=True)
    packets = [
        (1, 10, 5),
        (1, 90, 30),
        (1, 101, 80),  # beyond slow start
        (2, 300, 40),
        (2, 310, None),  # dropped
    ]
    pl.DataFrame(
        [
            ("bottleneck", "forward", sport, at * MS, None if wait is None else wait * MS)
            for sport, at, wait in packets
        ],
        schema=["bottleneck", "direction", "sport", "enqueue_ns", "sojourn_ns"],
        orient="row",
    ).write_parquet(directory / "packets.parquet")
    pl.DataFrame(
        [(1, 50 * MS, None), (1, 100 * MS, 20), (1, 150 * MS, 10), (2, 400 * MS, None)],
        schema={"sport": pl.Int64, "time_ns": pl.Int64, "ssthresh_packets": pl.UInt32},
        orient="row",
    ).write_parquet(directory / "acks.parquet")
    pl.DataFrame({"fct_s": [1.0, 2.0]}).write_parquet(directory / "flows.parquet")
    content: dict[str, Any] = document(seed=seed)
    content["experiment"]["flows"] = [{"count": 2}]
    return Run(directory, {"experiment": experiment, "senders": "unpaced"}, content)


def test_only_waits_in_slow_start_count(tmp_path: Path) -> None:
    run = made(tmp_path / "run")
    assert transients.slow_start_ends(run).rows() == [(1, 100 * MS)]
    assert transients.longest_wait_ms(run) == 40
    assert transients.completion(run) == {"fct_s": 1.5, "slowest_s": 2.0}


def test_pub4_table_means_over_seeds_and_relates_to_the_optimum(tmp_path: Path) -> None:
    runs = [made(tmp_path / f"{seed}", seed=seed) for seed in (1, 2)]
    runs.append(made(tmp_path / "fifo", experiment="pub4-fifo"))
    rows = pub4.table(runs).to_dicts()
    assert [(row["queue"], row["seeds"]) for row in rows] == [("CoDel", 2), ("FIFO", 1)]
    assert rows[0]["fct_ratio"] == rows[0]["peak_ms"] / 40 == 1
    assert (rows[0]["flows"], rows[0]["rtt_ms"]) == (2, 200)


TABLE = pl.DataFrame(
    [
        ("CoDel", BURSTS, 1, 20.0, 50.0, 1.0),
        ("CoDel", BURSTS, 1, 100.0, 90.0, 1.2),
        ("CoDel", BURSTS, 1, 400.0, 60.0, 1.5),
        ("CoDel", BURSTS, 4, 400.0, 160.0, 1.4),
        ("CoDel", "paced", 1, 100.0, 180.0, 1.1),
        ("Predict", BURSTS, 1, 20.0, 10.0, 1.0),
        ("Predict", BURSTS, 1, 100.0, 45.0, 1.01),
        ("Predict", BURSTS, 1, 400.0, 180.0, 1.02),
        ("Predict", "paced", 1, 100.0, 9.0, 1.01),
    ],
    schema=["queue", "senders", "flows", "rtt_ms", "peak_ms", "fct_ratio"],
    orient="row",
)


def test_pub4_metrics() -> None:
    assert pub4.delay_ratio(TABLE, "Predict", "CoDel", 0, 150, BURSTS) == 0.5
    assert pub4.delay_ratio(TABLE, "Predict", "CoDel", 0, 1000, BURSTS) == 3
    assert pub4.longest_at(TABLE, "CoDel", 1) == 100
    assert pub4.slowest_completion(TABLE, "CoDel", 200, 1000, BURSTS) == 1.5
    assert pub4.wait_in_rtts(TABLE, "Predict", 100) == 0.45
    assert pub4.pacing_effect(TABLE, "CoDel", 100) == 2
    assert pub4.pacing_effect(TABLE, "Predict", 100) == pytest.approx(0.2)


def test_pub4_without_data_has_no_value() -> None:
    assert pub4.delay_ratio(TABLE, "Predict", "PIE", 0, 1000, BURSTS) is None
    assert pub4.longest_at(TABLE, "PIE", 1) is None
    assert pub4.slowest_completion(TABLE, "CoDel", 500, 1000, BURSTS) is None
    assert pub4.wait_in_rtts(TABLE, "Predict", 500) is None
    assert pub4.pacing_effect(TABLE, "CoDel", 200) is None
