"""Figures of the thesis's chapter 2 that it has in words alone: metrics worked out by hand."""

from pathlib import Path

import polars as pl
import pytest

from pipelines.flow_startup import overshoot, probing, starving
from sandglass.results.series import Run
from tests.pipeline.synthetic import document

MS = 10**6
BDP = 50e-3 * 10e6 / 8 / 1514


def rounds() -> pl.DataFrame:
    """Two ways to send, an endless buffer and one of 2 BDP of 100 packets."""
    endless, two = "no limit", "2bdp"
    return pl.DataFrame(
        [
            ("Reno", 50.0, endless, 0, 10, 0, 9),
            ("Reno", 50.0, endless, 1, 20, 10, 10),
            ("Reno", 50.0, endless, 2, 40, 30, 20),
            ("Reno", 50.0, endless, 3, 80, 70, 60),
            ("Reno", 50.0, endless, 4, 160, 150, 80),
            ("Reno", 50.0, endless, 5, 10, 310, 70),
            ("BBR", 50.0, endless, 1, 20, 10, 3),
            ("Reno", 50.0, two, 3, 160, 70, 200),
            ("BBR", 50.0, two, 3, 160, 70, 190),
            ("BBR", 50.0, two, 4, 100, 230, 120),
        ],
        schema=["sender", "rtt_ms", "buffer", "round", "window", "sent", "peak"],
        orient="row",
    ).with_columns(bdp=pl.lit(100.0))


def test_probing_ends_when_the_link_is_full() -> None:
    """80 packets fill it at their end, the next round trip is full, those after it do not count."""
    table = rounds()
    assert probing.longest_transient(table, "Reno") == 20
    assert probing.longest_transient(table, "BBR") is None  # was never seen to fill it
    assert probing.least_share(table, "Reno") == 0.5
    assert probing.mean_growth(table, "Reno") == 2
    assert probing.peak_ratio(table, "BBR", "Reno", "2bdp", most=True) == 0.95


def test_a_round_trip_without_a_queue_is_one(tmp_path: Path) -> None:
    """A packet that an idle link takes at once leaves no trace in the backlog."""
    at = [(0, 0), (0, 1), (60, 60), (110, 110)]
    pl.DataFrame(
        [("bottleneck", "forward", i * MS, o * MS, None, 1448, 1514) for i, o in at],
        schema={
            "bottleneck": pl.String, "direction": pl.String, "enqueue_ns": pl.Int64,
            "dequeue_ns": pl.Int64, "drop_ns": pl.Int64, "payload_bytes": pl.UInt32,
            "size_bytes": pl.UInt32,
        },
        orient="row",
    ).write_parquet(tmp_path / "packets.parquet")  # fmt: skip
    made = document()
    made["experiment"]["rtt"] = "50ms"
    table = probing.table([Run(tmp_path, {"sender": "Reno"}, made)])
    assert table["window"].to_list() == [2, 1, 1]
    assert table["sent"].to_list() == [0, 2, 3]
    assert table["peak"].to_list()[1:] == [0, 0]
    assert table["bdp"][0] == pytest.approx(BDP)


def test_overshoot_compares_windows() -> None:
    table = pl.DataFrame(
        [
            ("FIFO", 50.0, 0.1, 0.1, 0.3, 0.2, 0.2, 5.0),
            ("FIFO", 50.0, 0.5, 0.5, 1.0, 0.6, 0.5, 2.0),
            ("FIFO", 50.0, 1.0, 1.0, 4.0, 2.0, 2.2, 3.0),
            ("CoDel", 50.0, None, 2.0, 3.0, 2.0, 1.5, 1.0),
            ("CoDel", 90.0, None, 2.0, 5.0, 2.0, 2.5, 1.0),
        ],
        schema=[
            "queue", "rtt_ms", "buffer", "peak_bdp",
            "end_bdp", "start_bdp", "after_bdp", "settled_s",
        ],
        orient="row",
    )  # fmt: skip
    assert overshoot.rank_correlation(table, "peak_bdp", most=False) == pytest.approx(1)
    assert overshoot.rank_correlation(table, "settled_s", most=True) == pytest.approx(-0.5)
    assert overshoot.rank_correlation(table, "settled_s", most=True, wrong=True) == pytest.approx(
        -1
    )
    assert overshoot.reduced_over_start(table, 1, most=True) == pytest.approx(1.1)
    assert overshoot.reduced_over_start(table, 0.5, most=False) == pytest.approx(5 / 6)
    assert overshoot.typical_end(table, "CoDel", 0) == 4
    assert overshoot.typical_end(table, "FIFO", 1) == 4


def test_starving_takes_the_largest_of_the_means() -> None:
    table = pl.DataFrame(
        {"buffer": [1.0, 1.0, 4.0, 4.0], "seed": [1, 2, 1, 2], "share": [0.5, 0.7, 0.1, 0.2]}
    )
    assert starving.largest_share(table, 4) == pytest.approx(0.15)
    assert starving.largest_share(table, 1) == pytest.approx(0.6)
