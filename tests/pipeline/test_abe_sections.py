"""ABE's figures of what the report's text says: their metrics, on tables worked out by hand."""

import functools
from typing import Any

import polars as pl
import pytest

from pipelines.abe import (
    backoffs,
    deep_queue,
    delays,
    multiplexing,
    overshoot,
    page,
    rule,
    sawtooth,
    short_flow,
    short_rtts,
    short_spread,
    step_marking,
    targets,
    without_ecn,
)
from tests.pipeline.synthetic import measured, value


def test_backoffs_metrics() -> None:
    table = pl.DataFrame(
        [
            ("CUBIC", "marks", 0.7, 20.0, 0.69, None),
            ("CUBIC", "marks", 0.9, 20.0, 0.905, 0.9),
            ("CUBIC", "losses", 0.9, 20.0, 0.71, 0.7),
            ("CUBIC", "losses", 0.7, 1.0, 0.5, 0.6),
            ("CUBIC that halves", "losses", 0.7, 1.0, 0.5, 0.5),
        ],
        schema=["sender", "signal", "beta", "rate_mbit", "share", "first_share"],
        orient="row",
    )
    assert value(backoffs.off(table, "CUBIC", "marks")) == pytest.approx(0.01)
    assert value(backoffs.off(table, "CUBIC", "losses")) == pytest.approx(0.01)
    assert backoffs.first(table, "CUBIC", "losses") == pytest.approx(0.6)
    assert backoffs.first(table, "CUBIC that halves", "losses") == pytest.approx(0.5)
    assert backoffs.first(table, "CUBIC", "marks") is None


def test_without_ecn_counts_what_differs_from_regular() -> None:
    table = pl.DataFrame(
        {
            "sender": "NewReno",
            "lacking": "path",
            "beta": ["0.5", "0.95", "regular"],
            "differing": [0, 3, 9],
        }
    )
    assert measured(without_ecn, "most_differing", table) == 3


def acks(rows: list[tuple[int, int, int, str]]) -> pl.DataFrame:
    """Acknowledgements of (ms, window, threshold, state), with a round trip of 100 ms."""
    columns = ["ms", "cwnd_packets", "ssthresh_packets", "ca_state"]
    table = pl.DataFrame(rows, schema=columns, orient="row")
    return table.select(pl.exclude("ms"), time_ns=pl.col("ms") * 1_000_000, srtt_us=pl.lit(100_000))


def test_sawtooth_is_from_one_recovery_to_the_next() -> None:
    record = acks(
        [
            (0, 99, 50, "Open"),
            (100, 99, 50, "Recovery"),
            (200, 48, 50, "Recovery"),
            (300, 50, 50, "Open"),
            (900, 56, 50, "Open"),
            (1000, 56, 28, "Recovery"),
            (1100, 28, 28, "Open"),
        ]
    )
    begins = sawtooth.recoveries(record)
    assert begins.to_list() == [100_000_000, 1_000_000_000]
    tooth = sawtooth.teeth(record, begins).row(0, named=True)
    assert tooth["round_trips"] == pytest.approx(9)
    assert (tooth["low_packets"], tooth["high_packets"]) == (50, 56)


def test_sawtooth_metrics() -> None:
    table = pl.DataFrame(
        [
            (10.0, 0.5, 0.1, 0.8, 1.1, 0.8, 10.0),
            (10.0, 0.5, 1.0, 1.0, 3.0, 0.99, 50.0),
            (10.0, 0.5, 2.0, 1.0, 3.0, 1.0, 90.0),
            (10.0, 0.9, 0.1, 0.9, 0.7, 0.9, 2.0),
            (40.0, 0.9, 0.1, 0.9, 0.9, 0.9, 2.0),
        ],
        schema=[
            "rate_mbit",
            "beta",
            "buffer_bdp",
            "model",
            "slope",
            "utilisation",
            "queue_packets",
        ],
        orient="row",
    ).with_columns(path_packets=pl.lit(100.0), data=pl.lit(1.32))
    assert measured(sawtooth, "off", table, of="slope", rate_mbit=10) == pytest.approx(0.3)
    assert measured(sawtooth, "off", table, of="slope", rate_mbit=40) == pytest.approx(0.1)
    assert measured(sawtooth, "off_with_the_queue", table, beta=0.5) == pytest.approx(0.2)
    assert measured(sawtooth, "least_utilisation", table, beta=0.5, buffer_from=1) == pytest.approx(
        0.99
    )
    assert measured(sawtooth, "queue_trend", table, beta=0.5, buffer_from=1) == pytest.approx(1)


def test_short_flow_metrics() -> None:
    table = pl.DataFrame(
        [
            ("CoDel", "starts", 0.5, 1, 2, 3.0),
            ("CoDel", "starts", 0.5, 2, 5, 3.0),
            ("CoDel", "starts", 0.9, 1, 8, 2.0),
            ("CoDel", "starts", 0.9, 2, 10, 2.5),
        ],
        schema=["queue", "varied", "beta_ecn", "seed", "cuts", "fct_s"],
        orient="row",
    )
    assert short_flow.of(table, "cuts", "CoDel", "starts", 0.5) == [2, 5]
    both: dict[str, Any] = {"over": "CoDel", "over_varied": "starts", "beta": 0.9}
    assert short_flow.over_queue(table, "cuts", "CoDel", "starts", **both) == [9 / 8, 9 / 10]
    assert short_flow.over_queue(table, "cuts", "PIE", "draws", **both) == []
    assert short_flow.less(table, "fct_s", "CoDel", "starts", 0.9, 0.5) == [1, 0.5]
    assert short_flow.over(table, "cuts", "CoDel", "starts", 0.9, 0.5) == [4, 2]
    assert short_flow.spread(table, "cuts", "CoDel", "starts", 0.5) == 3
    assert short_flow.spread(table, "cuts", "PIE", "starts", 0.5) is None
    to_4: dict[str, Any] = {"by": "cuts", "to": 4, "varied": "starts", "beta": 0.5}
    assert short_flow.nearest(table, "fct_s", queue="CoDel", **to_4) == 3
    assert short_flow.nearest(table, "seed", queue="CoDel", **to_4) == 2
    assert short_flow.nearest(table, "seed", queue="PIE", **to_4) is None
    to_10: dict[str, Any] = {"by": "cuts", "to": 10, "varied": "starts", "beta": 0.9, "than": 0.5}
    assert short_flow.nearest_less(table, "fct_s", queue="CoDel", **to_10) == 0.5
    assert short_flow.nearest_less(table, "fct_s", queue="PIE", **to_10) is None


def test_the_round_trips_of_a_flow_are_as_long_as_they_are() -> None:
    acks = pl.DataFrame({"time_ns": [0, 100, 300, 700], "srtt_us": [0.1, 0.1, 0.2, 0.4]})
    acks = acks.with_columns(pl.col("time_ns") * 1000, pl.col("srtt_us") * 1000)
    assert short_flow.round_trips(acks, 0, 700_000) == pytest.approx(1 + 2 + 2)
    assert short_flow.round_trips(acks, 100_000, 300_000) == pytest.approx(2)


def test_delays_metrics() -> None:
    table = pl.DataFrame(
        [
            ("CoDel", 100.0, 0.5, 0.0, 3.0, 9.0),
            ("CoDel", 400.0, 0.5, 0.0, 4.0, 9.0),
            ("PIE", 100.0, 0.5, 1.0, 9.0, 5.0),
            ("PIE", 100.0, 0.5, 100.0, 12.0, 20.0),
            ("PIE", 100.0, 0.5, 200.0, 30.0, 15.0),
        ],
        schema=["queue", "rtt_ms", "beta", "burst_ms", "mean_ms", "tail_ms"],
        orient="row",
    )
    assert measured(delays, "mean_delay", table, queue="CoDel", beta=0.5) == 4
    assert measured(delays, "mean_delay", table, queue="PIE", beta=0.5) == 12
    assert delays.burst_trend(table, 100) == pytest.approx(0.5)
    assert delays.burst_trend(table.with_columns(tail_ms=pl.lit(5.0)), 100) == 0
    assert value(delays.heavier_tail(table, 100)) == 11
    assert delays.heavier_tail(table.head(2), 100) is None


def test_overshoot_metrics() -> None:
    table = pl.DataFrame(
        {
            "queue": "CoDel",
            "rtt_ms": [100.0, 110.0],
            "overshoot_bdp": [0.1, 0.9],
            "at_drop_bdp": [-0.3, 0.2],
        }
    )
    assert measured(overshoot, "largest_at_drop", table, queue="CoDel") == pytest.approx(0.3)
    assert measured(overshoot, "smallest", table, queue="CoDel") == pytest.approx(0.1)
    assert measured(overshoot, "greatest", table, queue="CoDel") == pytest.approx(0.9)
    assert measured(overshoot, "greatest", table, queue="PIE") is None


def test_deep_queue_counts_back_offs_in_a_row() -> None:
    record = acks(
        [
            (0, 99, 50, "Open"),
            (100, 99, 50, "CWR"),
            (200, 90, 50, "CWR"),
            (300, 90, 45, "CWR"),
            (400, 80, 45, "Open"),
            (500, 80, 45, "Recovery"),
        ]
    )
    assert deep_queue.back_offs(record).to_list() == [100_000_000, 300_000_000, 500_000_000]


def test_deep_queue_metrics() -> None:
    table = pl.DataFrame(
        [
            ("marks", 0.5, 100.0, 4.0),
            ("marks", 0.95, 110.0, 20.0),
            ("drops", 0.5, 80.0, 4.0),
            ("drops", 0.95, 80.0, 4.0),
        ],
        schema=["queue", "beta", "delay_ms", "back_offs"],
        orient="row",
    )
    assert value(deep_queue.delay_over(table, 0.5)) == pytest.approx(1.1)
    more_back_offs = functools.partial(
        measured, deep_queue, "more_back_offs", table, queue="marks", than=0.5
    )
    assert more_back_offs(beta=0.95) == pytest.approx(5)
    assert more_back_offs(beta=0.9) is None


def test_targets_metrics() -> None:
    table = pl.DataFrame(
        {
            "rtt_ms": 20.0,
            "target_ms": [5.0, 20.0, 80.0],
            "throughput_mbit": [18.0, 19.0, 20.0],
        }
    )
    assert measured(targets, "trend", table, of="throughput_mbit", rtt_ms=20) == pytest.approx(1)
    assert value(targets.least_step(table, "throughput_mbit", 20)) == pytest.approx(1)
    assert targets.least_step(table, "throughput_mbit", 240) is None
    assert targets.lost(table, 20) == pytest.approx(0.1)
    assert targets.lost(table, 240) is None


def test_multiplexing_metrics() -> None:
    table = pl.DataFrame(
        {
            "queue": "PIE",
            "flows": [1, 2, 20, 1],
            "beta": [0.8, 0.8, 0.8, 0.5],
            "gain_percent": [12.0, 6.0, 1.0, 0.0],
        }
    )
    assert measured(multiplexing, "gain", table, queue="PIE", flows=1) == 12
    assert measured(multiplexing, "trend", table, queue="PIE") == pytest.approx(-1)


def test_rule_metrics() -> None:
    table = pl.DataFrame(
        [
            ("off", "ABE", 1, 1.0),
            ("off", "ABE", 2, 3.0),
            ("on", "ABE", 1, 0.8),
            ("on", "ABE", 2, 2.4),
            ("off", "short", 21, 1.0),
        ],
        schema=["rule", "group", "flow", "goodput_mbit"],
        orient="row",
    )
    assert measured(rule, "on_over_off", table, group="ABE") == pytest.approx(0.8)
    assert measured(rule, "on_over_off", table, group="short") is None


def test_step_marking_metrics() -> None:
    table = pl.DataFrame(
        [
            ("CoDel", 320.0, 0.8, 15.0, 10.0),
            ("step 5 ms", 320.0, 0.8, 14.0, 6.0),
            ("step 5 ms", 320.0, 0.5, 10.0, 5.0),
            ("step 20 ms", 320.0, 0.8, 16.0, 12.0),
        ],
        schema=["marking", "rtt_ms", "beta", "goodput_mbit", "delay_ms"],
        orient="row",
    )
    assert step_marking.gain(table, "step 5 ms", 0.8, 0.5) == pytest.approx(0.4)
    assert measured(
        step_marking, "delay_over", table, marking="step 5 ms", beta=0.8, over=0.5
    ) == pytest.approx(1.2)
    packet = table.with_columns(delay_ms=pl.lit(0.6056))  # 1514 bytes at 20 Mb/s
    packets_waited = functools.partial(measured, step_marking, "packets_waited", packet, beta=0.5)
    assert packets_waited(marking="step 5 ms") == pytest.approx(1)
    assert packets_waited(marking="RED") is None
    assert step_marking.step_over_codel(table, 0.8) == pytest.approx(0.9)  # half way, 9 of 10
    assert step_marking.step_over_codel(table.tail(3), 0.8) is None


SHORT = pl.DataFrame(
    [
        ("NewReno", "CoDel", 500.0, 0.9, 0.5),
        ("NewReno", "CoDel", 1000.0, 0.9, 12.0),
        ("NewReno", "PIE", 500.0, 0.9, -2.0),
        ("NewReno", "PIE", 1000.0, 0.9, 4.0),
        ("NewReno", "PIE", 1000.0, 0.5, 0.0),
        ("CUBIC", "PIE", 1000.0, 0.9, 3.0),
        ("CUBIC", "PIE", 1000.0, 0.7, 0.0),
    ],
    schema=["control", "queue", "size_kb", "beta", "gain_percent"],
    orient="row",
)


def test_short_spread_metrics() -> None:
    assert value(short_spread.least_gain(SHORT, "NewReno", "CoDel", 700)) == 12
    assert value(short_spread.largest_effect(SHORT, "NewReno", 700)) == 2
    assert short_spread.more_with(SHORT, "NewReno", "CoDel", "PIE", 2000) == pytest.approx(5.25)
    assert short_spread.more_with(SHORT, "CUBIC", "CoDel", "PIE", 2000) is None
    assert (
        measured(
            short_spread,
            "more_of",
            SHORT,
            control="NewReno",
            than="CUBIC",
            queue="PIE",
            beta=0.9,
            above_kb=700,
        )
        == 1
    )


def test_short_rtts_metrics() -> None:
    table = pl.DataFrame({"queue": "PIE", "rtt_ms": [100.0, 400.0], "saved_rtts": [3.0, 7.0]})
    assert measured(short_rtts, "more_at", table, queue="PIE", rtt_ms=400, than_ms=100) == 4
    assert measured(short_rtts, "more_at", table, queue="CoDel", rtt_ms=400, than_ms=100) is None


def test_page_metrics() -> None:
    table = pl.DataFrame(
        {
            "queue": "PIE",
            "page": "six connections",
            "beta": [0.5, 0.7, 0.9],
            "gain_percent": [0.0, 2.0, 4.0],
        }
    )
    assert measured(page, "gain", table, queue="PIE", page="six connections") == 3
    assert measured(page, "gain", table, queue="CoDel", page="six connections") is None
