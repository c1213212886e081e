"""What the thesis's chapters 3 and 4 have in words alone: metrics worked out by hand."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from pipelines.flow_startup import signals
from sandglass.results.series import Run
from tests.pipeline.synthetic import document, value

MS = 10**6
KEPT = "Predict, rate kept"
CE = 3


def transient(directory: Path, experiment: str) -> Run:
    """Two flows, RTT 100 ms, 10 Mb/s; the first is marked at 210 ms, hears of it at 361 ms and
    leaves slow start at 10 packets. The second, which never leaves, waits least."""
    directory.mkdir(parents=True)
    arrivals = [
        (1, 0, 0, 2),
        (1, 120, 10, 2),
        (1, 180, 20, 2),
        (1, 210, 50, CE),
        (1, 300, 60, 2),
        (1, 310, 60, CE),
        (1, 350, 90, 2),
        (2, 0, 1, 2),
        (2, 110, 2, 2),
        (2, 220, 9, 2),
    ]
    pl.DataFrame(
        [
            ("bottleneck", "forward", 80, flow, at * MS, (at + wait) * MS, wait * MS, 1250, 2, out)
            for flow, at, wait, out in arrivals
        ],
        schema=[
            "bottleneck", "direction", "sport", "dport", "enqueue_ns",
            "dequeue_ns", "sojourn_ns", "size_bytes", "ecn_in", "ecn_out",
        ],
        orient="row",
    ).write_parquet(directory / "packets.parquet")  # fmt: skip
    acks = [(1, 100, 10, None), (1, 361, 40, None), (1, 380, 20, 20), (2, 200, 30, None)]
    pl.DataFrame(
        [(80, flow, at * MS, window, threshold) for flow, at, window, threshold in acks],
        schema={
            "sport": pl.Int64,
            "dport": pl.Int64,
            "time_ns": pl.Int64,
            "cwnd_packets": pl.UInt32,
            "ssthresh_packets": pl.UInt32,
        },
        orient="row",
    ).write_parquet(directory / "acks.parquet")
    content: dict[str, Any] = document()
    content["experiment"] |= {"rtt": "100ms", "flows": [{"count": 2}]}
    return Run(directory, {"experiment": experiment, "senders": "unpaced"}, content)


def test_a_mark_its_response_and_what_comes_between(tmp_path: Path) -> None:
    """A packet takes 1 ms of the link, which carries 100 of them in an RTT."""
    row = signals.table([transient(tmp_path / "run", "pub4-predict")]).row(0, named=True)
    share = 100e-3 * 10e6 / 8 / 1514 / 2
    assert row["end_share"] == pytest.approx(35 / share)  # 40 and 30 packets
    assert row["after_share"] == pytest.approx(20 / share)
    assert row["load"] == pytest.approx(0.03)  # at 120, 180 and 210 ms
    assert row["response"] == pytest.approx(151 / 151)
    assert row["growth"] == pytest.approx(4 / 4)
    assert row["best_ms"] == 9
    assert row["best_rho"] == pytest.approx(1)


def test_codel_marks_at_the_head(tmp_path: Path) -> None:
    """The mark of 210 ms is of 260 ms then, and its packet does not wait any more."""
    row = signals.table([transient(tmp_path / "run", "pub4-codel")]).row(0, named=True)
    assert row["response"] == pytest.approx(101 / 101)
    assert row["growth"] == pytest.approx(3 / 3)


def loads() -> pl.DataFrame:
    return pl.DataFrame(
        [
            (KEPT, "unpaced", 1, 50.0, 0.6, 1.0, 2.0),
            (KEPT, "unpaced", 1, 200.0, 0.8, 0.97, 1.5),
            (KEPT, "spread", 1, 200.0, 0.4, 1.01, 1.8),
            (KEPT, "unpaced", 4, 200.0, 1.9, 2.0, 0.1),
        ],
        schema=["queue", "senders", "flows", "rtt_ms", "load", "response", "growth"],
        orient="row",
    ).with_columns(best_ms=pl.col("rtt_ms") / 10)


def test_signals_of_one_flow() -> None:
    assert value(signals.most_load(loads(), KEPT)) == 0.8
    assert signals.typical_load(loads(), KEPT) == pytest.approx(0.6)
    assert value(signals.response_off(loads(), KEPT)) == pytest.approx(0.03)
    assert value(signals.least_growth(loads(), KEPT)) == 1.5
    assert signals.least_growth(loads(), "CoDel") is None


def test_signals_of_several_flows() -> None:
    assert signals.typical(loads(), KEPT, "load", rtt_from=100) == pytest.approx(1.35)
    assert signals.typical(loads(), KEPT, "load", rtt_from=100, flows_from=2) == 1.9
    assert value(signals.least_best(loads(), KEPT, flows_from=1)) == 5
