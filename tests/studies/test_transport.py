"""Measures of flows over time, of what was acknowledged and of transfers that are written here."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from sandglass.results.series import Run
from sandglass.studies import transport
from sandglass.studies.measure import Measure

SECOND = 10**9
RATE = 8_000_000
FULL = RATE / 8 * 1448 / 1514
"""Payload bytes that a link of 8 Mb/s carries in a second."""
BOTTLENECK: dict[str, Any] = {"rate": "8mbit", "queue": {"kind": "pfifo"}, "schedule": []}


def run(home: Path, bottleneck: dict[str, Any] = BOTTLENECK) -> Run:
    experiment = {"duration": "40s", "rtt": "100ms", "bottleneck": bottleneck}
    return Run(home, {}, {"experiment": experiment, "bottlenecks": {"bottleneck": {}}})


def acknowledged(home: Path, *flows: list[float]) -> None:
    """What each flow got in each of the seconds, as goodput.parquet has it."""
    rows = [
        {"time_ns": second * SECOND + part * SECOND // 10, "flow": flow, "bytes": int(total)}
        for flow, amounts in enumerate(flows, 1)
        for second, amount in enumerate(amounts)
        for part in range(1, 11)
        for total in [sum(amounts[:second]) + amount * part / 10]
    ]
    frame = pl.DataFrame(rows, {"time_ns": pl.Int64, "flow": pl.UInt16, "bytes": pl.UInt64})
    frame.sort("time_ns").write_parquet(home / "goodput.parquet")


def value(name: str, of: Run, **keys: Any) -> float:
    return Measure.model_validate({"measure": name, **keys}).value(of)


def test_reached_is_the_end_of_the_first_step_with_that_share(tmp_path: Path) -> None:
    acknowledged(tmp_path, [FULL / 2] * 12 + [0.85 * FULL] * 3 + [0.95 * FULL] * 25)
    of = run(tmp_path)
    assert value("reached", of, share=0.4, **{"from": "10s"}) == pytest.approx(0.1)
    assert value("reached", of, share=0.8, **{"from": "10s"}) == pytest.approx(2.1)
    assert value("reached", of, share=0.9, **{"from": "10s"}) == pytest.approx(5.1)
    assert value("reached", of, share=0.99, **{"from": "10s"}) == 30, "never: the window's length"
    # Of the rate that the link has at the end.
    doubled = run(tmp_path, BOTTLENECK | {"schedule": [{"at": "5s", "rate": "16mbit"}]})
    assert value("reached", doubled, share=0.47, **{"from": "10s"}) == pytest.approx(5.1)
    assert value("reached", doubled, share=0.9, **{"from": "10s"}) == 30


def test_flows_have_converged_when_they_stay_fair_for_five_seconds(tmp_path: Path) -> None:
    first = [1e6] * 10 + [5e5] * 3 + [9e5] * 4 + [5e5] * 23
    other = [0.0] * 10 + [5e5] * 3 + [1e5] * 4 + [5e5] * 23
    acknowledged(tmp_path, first, other)
    # From 10 to 13 s they are fair, but not for 5 s.
    assert value("convergence", run(tmp_path), **{"from": "10s"}) == pytest.approx(7)
    assert value("convergence", run(tmp_path), **{"from": "20s"}) == 0
    acknowledged(tmp_path, [9e5] * 40, [1e5] * 40)
    assert value("convergence", run(tmp_path), **{"from": "10s"}) == 30


def test_the_least_share_is_that_of_the_worst_ten_seconds(tmp_path: Path) -> None:
    acknowledged(
        tmp_path, [5e5] * 20 + [8e5] * 10 + [5e5] * 10, [5e5] * 20 + [2e5] * 10 + [5e5] * 10
    )
    assert value("least_share", run(tmp_path)) == pytest.approx(0.4)
    assert value("least_share", run(tmp_path), until="20s") == pytest.approx(1)
    acknowledged(tmp_path, [0.0] * 40, [0.0] * 40)
    with pytest.raises(ValueError, match="nobody is acknowledged anything"):
        value("least_share", run(tmp_path))


def transferred(home: Path, *rows: tuple[int, float, float | None]) -> None:
    """Bytes, start and end in seconds, of flow 1 from s1 to d1, 100 ms."""
    frame = [
        {
            "flow": 1,
            "bytes": size,
            "start_ns": int(start * SECOND),
            "end_ns": None if end is None else int(end * SECOND),
        }
        for size, start, end in rows
    ]
    types = {"flow": pl.UInt16, "bytes": pl.Int64, "start_ns": pl.Int64, "end_ns": pl.Int64}
    pl.DataFrame(frame, types).write_parquet(home / "transfers.parquet")
    half = {"half_rtt_ns": 50_000_000}
    plan = {"hosts": {"s1": half, "d1": half}, "flows": [{"id": 1, "src": "s1", "dst": "d1"}]}
    (home / "plan.json").write_text(json.dumps(plan))


def test_a_transfer_that_is_not_over_took_until_the_end(tmp_path: Path) -> None:
    transferred(tmp_path, (1448, 5, 6), (1448, 10, 12), (1448, 20, None), (1448, 38, 39))
    of = run(tmp_path)
    assert value("fct", of, share=1) == 20
    assert value("fct", of, share=0.5) == pytest.approx(1.5)
    assert value("fct", of, share=1, **{"until": "15s"}) == 2
    # What ends after the window is not over within it.
    assert value("fct", of, share=1, **{"until": "11s"}) == 1
    with pytest.raises(ValueError, match="no transfer begins"):
        value("fct", of, **{"from": "39s"})


def test_slowdown_is_1_where_an_answer_takes_two_round_trips_and_its_packets(
    tmp_path: Path,
) -> None:
    least = 2 * 0.1 + 10 * 1514 * 8 / RATE
    transferred(tmp_path, (14480, 5, 5 + least), (14480, 10, 10 + 3 * least))
    assert value("slowdown", run(tmp_path), share=0.001) == pytest.approx(1, abs=0.01)
    assert value("slowdown", run(tmp_path), share=1) == pytest.approx(3)


def test_the_rate_is_that_of_the_last_change(tmp_path: Path) -> None:
    changes = [{"at": "10s", "rate": "4mbit"}, {"at": "20s", "rtt": "10ms", "rate": None}]
    of = run(tmp_path, BOTTLENECK | {"schedule": changes})
    assert transport.rate_bps(of, 9 * SECOND) == 8_000_000
    assert transport.rate_bps(of, 10 * SECOND) == 4_000_000
    assert transport.rate_bps(of, 30 * SECOND) == 4_000_000
    with pytest.raises(ValueError, match="follows a trace"):
        transport.rate_bps(run(tmp_path, BOTTLENECK | {"rate": {"trace": "wifi"}}), 0)
