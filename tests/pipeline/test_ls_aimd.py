"""The figures of LS-AIMD: their reduction of runs and their metrics, worked out by hand."""

import functools
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from pipelines.ls_aimd import (
    base_rtts,
    delays,
    hosts,
    increase,
    marking,
    occupancy,
    overview,
    srtt,
    steady,
    throughput,
    utilisation,
)
from sandglass.results.series import Run
from tests.pipeline.synthetic import document, measured

MS = 10**6
SLOW, FULL = "LS-AIMD, C = 1/128", "LS-AIMD, C = 1"
RED = {"kind": "red", "min": "250us"}
STEP = {"kind": "dualred", "mark_min": 2500}


def made(directory: Path, sender: str = "AIMD", queue: dict[str, Any] = RED) -> Run:
    """Two flows on 80 Mb/s for 20 ms; what counts is the second half.

    In it four packets of 1000 bytes come, wait 100, 200, 300 and 400 us, and two are marked.
    """
    directory.mkdir(parents=True)
    packets = [
        (1, 5 * MS, 900, 2, 2),  # too early to count
        (1, 10 * MS, 100, 2, 2),
        (2, 12 * MS, 200, 2, 3),
        (1, 14 * MS, 300, 2, 3),
        (2, 18 * MS, 400, 2, 2),
    ]
    pl.DataFrame(
        [
            ("bottleneck", "forward", flow, at, at + wait * 1000, wait * 1000, 1000, before, after)
            for flow, at, wait, before, after in packets
        ],
        schema=[
            *("bottleneck", "direction", "flow", "enqueue_ns", "dequeue_ns", "sojourn_ns"),
            *("size_bytes", "ecn_in", "ecn_out"),
        ],
        orient="row",
    ).with_columns(drop=pl.lit(None, pl.String)).write_parquet(directory / "packets.parquet")
    pl.DataFrame(
        {
            "time_ns": [5 * MS, 11 * MS, 15 * MS],
            "srtt_us": [9999, 800, 1200],
            "cwnd_packets": [9, 2, 2],
            "threshold_bytes": [1.0, 512.0, 512.0],
            "increase_bytes": [1.0, 2.0, 2.0],
        }
    ).write_parquet(directory / "acks.parquet")
    content: dict[str, Any] = document()
    content["experiment"] |= {
        "duration": "20ms",
        "rtt": "500us",
        "bottleneck": {"rate": "80mbit", "queue": queue},
        "flows": [{}, {}],
        "hosts": {"s1": {"mtu": 1500, "sysctls": {"net.ipv4.tcp_lsaimd.c": 1}}},
    }
    content["flows"] = [{"rtos": 1}, {"rtos": 2}]
    marking_name = "ramp" if queue["kind"] == "red" else "step"
    axis = "reno" if marking_name == "ramp" else "dctcp"
    return Run(directory, {"experiment": f"4-{marking_name}", "case": "4A", axis: sender}, content)


def test_names_and_target_come_from_the_run(tmp_path: Path) -> None:
    ramp, step = made(tmp_path / "ramp"), made(tmp_path / "step", SLOW, STEP)
    assert steady.case(ramp) == {"case": "4A", "marking": "RED ramp", "sender": "AIMD"}
    assert steady.case(step) == {"case": "4A", "marking": "RED step", "sender": SLOW}
    assert steady.target_us(ramp) == steady.target_us(step) == 250
    assert steady.interval_ns(ramp) == (10 * MS, 20 * MS)


def test_tables_count_the_second_half(tmp_path: Path) -> None:
    runs = [made(tmp_path / "aimd"), made(tmp_path / "slow", SLOW)]
    (used, _) = utilisation.table(runs)["utilisation"].to_list()
    assert used == pytest.approx(4 * 1000 * 8 / 0.01 / 80e6)
    queue = occupancy.table(runs).row(0, named=True)
    assert queue["packets"] == pytest.approx(1000e-6 / 0.01)
    assert queue["of_target"] == pytest.approx(1000 * 0.1 / 2500)
    assert srtt.table(runs)["srtt_us"].to_list() == [1000, 1000]
    assert srtt.table(runs).select(srtt.LEVELS).row(0) == (750, 1000, 1250)
    assert srtt.agreeing(srtt.table(runs), 0.02) == 0.5  # the thesis's 4A: 500 us and 514, or 258
    assert marking.table(runs)["marked"].to_list() == [0.5, 0.5]
    rows = increase.table(runs).to_dicts()
    assert [row["increase_bytes"] for row in rows] == [1448, 2]
    assert rows[1]["stated_bytes"] == pytest.approx(2)  # 256/128 log2(512/512 + 1)
    assert measured(increase, "departure", increase.table(runs)) == pytest.approx(0)
    most = functools.partial(measured, increase, "most", increase.table(runs), sender=SLOW)
    assert most(cases=["4A"]) == pytest.approx(2 / 1448)
    assert most(cases=["1"]) is None


def test_delays_are_compared_like_for_like(tmp_path: Path) -> None:
    table = delays.table([made(tmp_path / "aimd")])
    found = {row["statistic"]: row for row in table.to_dicts()}
    assert found["mean"]["ours_us"] == 250
    tick = steady.TICK_US
    assert found["mean"]["like_us"] == pytest.approx(tick * (3 + 6 + 9 + 12) / 4)
    assert found["mean"]["thesis_us"] == 514
    assert (found["min"]["ours_us"], found["max"]["ours_us"]) == (100, 400)


def compared(*rows: tuple[str, float, float | None]) -> pl.DataFrame:
    return pl.DataFrame(
        [("4A", "RED step", sender, "mean", ours, ours, thesis) for sender, ours, thesis in rows],
        schema=["case", "marking", "sender", "statistic", "ours_us", "like_us", "thesis_us"],
        orient="row",
    )


def test_departures_and_order() -> None:
    table = compared(("AIMD", 300.0, 270.0), (SLOW, 250.0, 200.0), (FULL, 240.0, 265.0))
    assert delays.departure(table, SLOW, ["4A"]) == pytest.approx(0.25)
    assert delays.departure(table, SLOW, ["4B"]) is None
    # 270 and 265 are not far enough apart to count; 265 and 200 are, and are swapped.
    assert delays.swapped(table, "RED step", 0.1) == 1
    assert delays.swapped(compared(("AIMD", 3.0, 300.0)), "RED step", 0.1) is None


def test_values_agree_by_themselves() -> None:
    table = compared(("AIMD", 300.0, 270.0), (SLOW, 250.0, 200.0), (FULL, 240.0, None))
    assert delays.agreeing(table, 0.2, "RED step", "mean") == 0.5
    assert delays.agreeing(table, 0.2, sender="AIMD") == 1
    assert delays.agreeing(table, 0.1) == 0
    assert delays.agreeing(table, 0.2, "RED step", "p95") is None


def test_a_wait_of_nothing_agrees_with_itself_alone() -> None:
    table = compared(("AIMD", 0.0, 0.0), (SLOW, 32.768, 0.0)).with_columns(statistic=pl.lit("min"))
    assert delays.agreeing(table, 0.2) == 0.5


def test_single_waits_agree_by_the_recorders_ticks() -> None:
    """12 ticks over 10 are a fifth; the slides have 327 us for 327.68."""
    row = {"case": "4A", "marking": "RED step", "sender": "AIMD", "like_us": 12 * 32.768}
    table = pl.DataFrame([{**row, "statistic": name, "thesis_us": 327.0} for name in ("p95", "sd")])
    assert delays.agreeing(table, 0.2, "RED step", "p95") == 1
    assert delays.agreeing(table, 0.2, "RED step", "sd") == 0


def test_what_hosts_add_is_what_pinned_queues_lack() -> None:
    half = steady.TICK_US / 2
    table = pl.concat(
        compared(("AIMD", 100.0, thesis - half), (SLOW, 100.0, 1.0)).with_columns(case=pl.lit(case))
        for case, thesis in (("4E", 40.0), ("4F", 20.0), ("4A", 1.0))
    )
    assert delays.hosts_us(table) == pytest.approx(70)
    assert delays.hosts_apart_us(table) == pytest.approx(20)


def test_a_standard_deviation_of_two_ticks() -> None:
    """A mean of 10.5 ticks is half of 10 and half of 11, which are half a tick away."""
    row = {"marking": "RED step", "sender": "AIMD", "ours_us": 1.0, "like_us": 1.0}
    found = [("4E", "mean", 10.5), ("4E", "sd", 0.5), ("4F", "mean", 10.5), ("4F", "sd", 0.9)]
    table = pl.DataFrame(
        [
            {**row, "case": case, "statistic": name, "thesis_us": ticks * steady.TICK_US}
            for case, name, ticks in found
        ]
    )
    assert delays.ticks_agreeing(table, 0.01) == 0.5


def test_agreement_by_noise() -> None:
    row = {"case": "4E", "marking": "RED step", "sender": "AIMD", "statistic": "sd"}
    table = pl.DataFrame(
        [
            {**row, "ours_us": 0.0, "like_us": 0.0, "thesis_us": 15.0, "noise": "none"},
            {**row, "ours_us": 14.0, "like_us": 14.0, "thesis_us": 15.0, "noise": "cards"},
        ]
    )
    assert hosts.agreeing(table, "none", 0.2, statistic="sd") == 0
    assert hosts.agreeing(table, "cards", 0.2, statistic="sd") == 1


def test_distance_by_base_rtts() -> None:
    row = {"statistic": "mean", "thesis_us": 200.0}
    table = pl.DataFrame(
        [{**row, "like_us": 100.0, "rtts": "equal"}, {**row, "like_us": 220.0, "rtts": "spread"}]
    )
    assert base_rtts.departure(table, "equal", "mean") == pytest.approx(0.5)
    assert base_rtts.departure(table, "spread", "mean") == pytest.approx(0.1)
    assert base_rtts.departure(table, "spread", "sd") is None


def test_one_marking_over_another() -> None:
    step = compared((SLOW, 100.0, None), (FULL, 200.0, None))
    ramp = step.with_columns(pl.col("ours_us") * 2, marking=pl.lit("RED ramp"))
    worse = step.with_columns(
        pl.col("ours_us") * 0.8, case=pl.lit("4B"), marking=pl.lit("RED ramp")
    )
    also = step.with_columns(case=pl.lit("4B"))
    table = pl.concat([step, ramp, worse, also])
    assert delays.over_other_marking(table, SLOW, "RED step", "RED ramp") == pytest.approx(1.25)
    assert delays.over_other_marking(table, "AIMD", "RED step", "RED ramp") is None


def test_a_lost_value_is_not_compared() -> None:
    table = compared(("AIMD", 300.0, None), (SLOW, 200.0, 200.0))
    assert delays.agreeing(table, 0.2, "RED step", "mean") == 1
    assert delays.departure(table, "AIMD", ["4A"]) is None


def test_throughput_and_what_is_on_its_way(tmp_path: Path) -> None:
    table = throughput.table([made(tmp_path / "aimd")])
    assert table["mbit"].to_list() == [0.024, 0.016]
    # 400 packets a second, 1 ms, two senders
    assert measured(
        "ls_aimd.throughput_4a", "in_flight", table, marking="RED ramp", sender="AIMD"
    ) == pytest.approx(0.2)
    assert measured("ls_aimd.throughput_4a", "timeouts", table, sender="AIMD") == 3


def test_the_least_share_is_of_the_second_half() -> None:
    rows = [("AIMD", flow, second, mbit) for flow, second, mbit in
            [(1, 1, 0.0), (2, 1, 9.0), (1, 2, 3.0), (2, 2, 1.0)]]  # fmt: skip
    table = pl.DataFrame(rows, schema=["sender", "flow", "second", "mbit"], orient="row")
    table = table.with_columns(marking=pl.lit("RED ramp"))
    assert throughput.least_share(table, "RED ramp", "AIMD") == 0.5


def test_utilisation_counts_where_aimds_is_high() -> None:
    rows = [
        ("4A", "AIMD", 0.95),
        ("4A", SLOW, 0.92),
        ("4B", "AIMD", 0.80),
        ("4B", SLOW, 0.10),
    ]
    table = pl.DataFrame(rows, schema=["case", "sender", "utilisation"], orient="row")
    table = table.with_columns(marking=pl.lit("RED ramp"))
    assert utilisation.least(table, "RED ramp", SLOW, 0.9) == 0.92


def test_overview_relates_to_the_target() -> None:
    table = pl.DataFrame(
        {
            "fair_window": [0.5, 10.0],
            "delay_us": [2500.0, 275.0],
            "target_us": [250.0, 250.0],
            "window": [2.0, 11.0],
        }
    )
    assert measured(overview, "least_delay", table, fair_window_below=1) == 10
    assert measured(overview, "least_window", table, fair_window_below=1) == 2
    assert measured(overview, "most_delay", table, fair_window_from=8) == pytest.approx(1.1)
